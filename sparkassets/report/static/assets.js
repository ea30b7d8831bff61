// All assets: a list that is narrowed by words, state and owner.

function assetsPage({ query }) {
  const all = site.index.assets;
  const states = [...new Set(all.map(assetState))].sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
  const owners = [...new Set(all.map((asset) => asset.owner).filter(Boolean))].sort();
  const found = h("div");
  const told = h("span", { class: "quiet" });
  const now = { text: query.q || "", state: query.state || "", owner: query.owner || "" };
  const has = (asset, word) => [asset.name, asset.description, asset.owner, asset.type, asset.kind].some((text) => text && text.toLowerCase().includes(word));
  const fits = (asset) => {
    const state = assetState(asset);
    const counted = asset.counts?.[now.state] > 0;
    if (now.state && state !== now.state && !counted) return false;
    if (now.owner && asset.owner !== now.owner) return false;
    return now.text.toLowerCase().split(/\s+/).filter(Boolean).every((word) => has(asset, word));
  };
  const update = () => {
    const rows = all.filter(fits);
    show(told, `${number(rows.length)} of ${number(all.length)}`);
    show(found, table(ASSET_COLUMNS, rows, { none: "No asset is like that." }));
    history.replaceState(null, "", address(["assets"], { q: now.text, state: now.state, owner: now.owner }));
  };
  const select = (name, values, key) => h("select", { "aria-label": name, onchange: (event) => { now[key] = event.target.value; update(); } },
    h("option", { value: "" }, name), values.map((value) => h("option", { value, selected: now[key] === value }, key === "state" ? statusOf(value).label : value)));
  const field = h("input", { type: "search", value: now.text, placeholder: "Filter by name, owner, words…", "aria-label": "Filter", oninput: later((event) => { now.text = event.target.value; update(); }) });
  update();
  return h("div", null,
    h("header", { class: "page" }, h("h1", null, "Assets"), h("div", { class: "tools" }, field, select("Any state", states, "state"), owners.length > 0 && select("Any owner", owners, "owner"), told)),
    found);
}

const ASSET_COLUMNS = [
  { title: "Asset", cell: (row) => [assetLink(row.name), row.description && h("div", { class: "quiet line" }, row.description)] },
  { title: "State", cell: (row) => badge(assetState(row)), fit: true },
  { title: "Partitions", cell: (row) => (row.partitions ? stack(row.counts || {}) : ""), wide: true },
  { title: "Schedule", cell: (row) => h("span", { class: "line quiet", title: row.schedule }, row.schedule), wide: true },
  { title: "Owner", cell: (row) => h("span", { class: "line owner quiet", title: row.owner }, row.owner || ""), wide: true },
  { title: "Updated", cell: (row) => moment(row.last_at), fit: true },
];
