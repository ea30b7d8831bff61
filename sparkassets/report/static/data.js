// What the report holds. Pages opened from a file may load scripts and nothing else, so the data comes as scripts.

const root = document.documentElement;
const site = {
  at: Number(root.dataset.at),
  index: null,
  byName: new Map(),
  _waiting: new Map(),
  _loaded: new Map(),
};

window.sparkassetsReport = (name, document_) => site._waiting.get(name)?.resolve(document_);

/** The document of that name; loaded once. */
function load(name) {
  if (!site._loaded.has(name)) {
    site._loaded.set(
      name,
      new Promise((resolve, reject) => {
        site._waiting.set(name, { resolve });
        const script = h("script", { src: `data/${root.dataset.folder}/${name}.js` });
        script.onerror = () => {
          site._loaded.delete(name);
          reject(new Error("this part of the report is not there any more: it was rewritten. Reload the page."));
        };
        document.head.append(script);
      }),
    );
  }
  return site._loaded.get(name);
}

/** All that every page needs. */
async function loadIndex() {
  site.index = await load("index");
  site.index.assets.forEach((asset, place) => {
    asset.place = place;
    asset.readers = [];
    site.byName.set(asset.name, asset);
  });
  for (const asset of site.index.assets)
    for (const inlet of asset.inlets || []) site.byName.get(inlet)?.readers.push(asset.name);
}

/** What the page of an asset has; undefined where there is no such asset. */
async function pageOf(name) {
  const shard = site.index.shards[name];
  if (shard === undefined) return undefined;
  const pages = await load(`assets-${shard}`);
  return pages.find((page) => page.name === name);
}

/** Runs and events: {runs, events, byRun, byAsset}, the newest first. */
async function history_() {
  if (site.past) return site.past;
  const past = await load("runs");
  const runs = [...past.runs].reverse();
  const byAsset = new Map();
  for (const run of runs) {
    if (!byAsset.has(run.asset)) byAsset.set(run.asset, []);
    byAsset.get(run.asset).push(run);
  }
  const events = [...past.events].reverse();
  site.past = { runs, events, byRun: new Map(runs.map((run) => [run.run, run])), byAsset };
  return site.past;
}

/** The asset whose runs write an asset: itself, unless it is an outlet. */
const makerOf = (asset) => site.byName.get(asset.maker || asset.name) || asset;
