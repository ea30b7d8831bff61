// Documents from files beside the page: pages opened from a disk may load scripts and nothing else, so these are scripts.

const awaited = new Map();
const loaded = new Map();
site.at = Number(root.dataset.at);
window.sparkassetsReport = (name, document_) => awaited.get(name)?.resolve(document_);

/** The document of that name; loaded once. */
function load(name) {
  if (!loaded.has(name)) {
    loaded.set(
      name,
      new Promise((resolve, reject) => {
        awaited.set(name, { resolve });
        const script = h("script", { src: `data/${root.dataset.folder}/${name}.js` });
        script.onerror = () => {
          loaded.delete(name);
          reject(new Error("this part of the report is not there any more: it was rewritten. Reload the page."));
        };
        document.head.append(script);
      }),
    );
  }
  return loaded.get(name);
}

/** What the page of an asset has; undefined where there is no such asset. */
async function pageOf(name) {
  const shard = site.index.shards[name];
  if (shard === undefined) return undefined;
  const pages = await load(`assets-${shard}`);
  return pages.find((page) => page.name === name);
}
