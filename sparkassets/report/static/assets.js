// All assets: a list that is narrowed by words, state, owner and tag.

function assetsPage({ query }) {
  const { assets } = site.index;
  const states = [...new Set(assets.map(assetState))].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
  const owners = [...new Set(assets.map((asset) => asset.owner).filter(Boolean))].sort();
  const tags = [...new Set(assets.flatMap((asset) => asset.tags || []))].sort();
  const results = h("div");
  const count = h("span", { class: "quiet" });
  const now = { text: query.q || "", state: query.state || "", owner: query.owner || "", tag: query.tag || "" };
  const has = (asset, word) =>
    [asset.name, asset.description, asset.owner, asset.type, asset.kind, ...(asset.tags || [])].some(
      (text) => text && text.toLowerCase().includes(word),
    );
  const fits = (asset) => {
    const state = assetState(asset);
    const counted = asset.counts?.[now.state] > 0;
    if (now.state && state !== now.state && !counted) return false;
    if (now.owner && asset.owner !== now.owner) return false;
    if (now.tag && !asset.tags?.includes(now.tag)) return false;
    return now.text
      .toLowerCase()
      .split(/\s+/)
      .filter(Boolean)
      .every((word) => has(asset, word));
  };
  const list = () => {
    const rows = site.index.assets.filter(fits);
    show(count, `${number(rows.length)} of ${number(site.index.assets.length)}`);
    return table(ASSET_COLUMNS, rows, { none: "No asset is like that." });
  };
  const update = () => {
    show(results, list());
    history.replaceState(
      null,
      "",
      address(["assets"], { q: now.text, state: now.state, owner: now.owner, tag: now.tag }),
    );
  };
  const select = (name, values, key) =>
    h(
      "select",
      {
        "aria-label": name,
        onchange: (event) => {
          now[key] = event.target.value;
          update();
        },
      },
      h("option", { value: "" }, name),
      values.map((value) =>
        h("option", { value, selected: now[key] === value }, key === "state" ? statusOf(value).label : value),
      ),
    );
  const field = h("input", {
    type: "search",
    value: now.text,
    placeholder: "Filter by name, owner, tag, words…",
    "aria-label": "Filter",
    oninput: later((event) => {
      now.text = event.target.value;
      update();
    }),
  });
  update();
  const page = h(
    "div",
    null,
    h(
      "header",
      { class: "page" },
      h("h1", null, "Assets"),
      h(
        "div",
        { class: "tools" },
        field,
        select("Any state", states, "state"),
        owners.length > 0 && select("Any owner", owners, "owner"),
        tags.length > 0 && select("Any tag", tags, "tag"),
        count,
      ),
    ),
    results,
  );
  page.renew = () => renew(results.firstElementChild, list());
  return page;
}

/** The tags of an asset, each leading to the assets that have it. */
const tagLinks = (row) =>
  (row.tags || []).map((tag) => [" ", h("a", { class: "tag", href: address(["assets"], { tag }) }, tag)]);

const ASSET_COLUMNS = [
  {
    title: "Asset",
    cell: (row) => [
      assetLink(row.name),
      tagLinks(row),
      row.description && h("div", { class: "quiet line" }, row.description),
    ],
  },
  { title: "State", cell: (row) => badge(assetState(row)), fit: true },
  { title: "Partitions", cell: (row) => (row.partitions ? stack(row.counts || {}) : ""), wide: true },
  {
    title: "Schedule",
    cell: (row) => h("span", { class: "line quiet", title: row.schedule }, row.schedule),
    wide: true,
  },
  {
    title: "Owner",
    cell: (row) => h("span", { class: "line owner quiet", title: row.owner }, row.owner || ""),
    wide: true,
  },
  { title: "Updated", cell: (row) => moment(row.last_at), fit: true },
];
