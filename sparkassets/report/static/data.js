// What the report holds; `load` and `pageOf` bring it, from files or from a server.

const root = document.documentElement;
const site = {
  at: 0,
  index: null,
  byName: new Map(),
  /** What a server offers to do with an asset: (row, page, query) to elements. */
  tools: () => null,
};

/** Takes an index, also in the place of an earlier one. */
function takeIndex(index) {
  site.index = index;
  site.past = null;
  site.byName = new Map(index.assets.map((asset) => [asset.name, asset]));
  index.assets.forEach((asset, place) => {
    asset.place = place;
    asset.readers = [];
  });
  for (const asset of index.assets)
    for (const inlet of asset.inlets || []) site.byName.get(inlet)?.readers.push(asset.name);
}

/** Runs and events: {runs, events, byRun, byAsset}, the newest first. */
async function loadHistory() {
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
const writerOf = (asset) => site.byName.get(asset.writer || asset.name) || asset;
