// Documents from the server, which follows the journal: what has changed comes by itself, and is shown in place.

const POLL = 2000;
const fetched = new Map();
let version = "";

/** What the server answers; null where the page has the newest already. */
async function ask(path, options) {
  const answer = await fetch(path, { cache: "no-store", ...options });
  if (answer.status === 304) return null;
  const isDocument = answer.headers.get("Content-Type")?.startsWith("application/json");
  const document_ = isDocument ? await answer.json() : { error: { message: (await answer.text()).trim() } };
  if (!answer.ok) throw Object.assign(new Error(document_.error.message), { hint: document_.error.hint });
  return document_;
}

/** The document of that name; asked for once, until something has changed. */
function load(name) {
  if (name === "index") return readIndex();
  if (!fetched.has(name)) {
    const answer = ask(`data/${name}`);
    answer.catch(() => fetched.delete(name));
    fetched.set(name, answer);
  }
  return fetched.get(name);
}

const pageOf = async (name) => (site.byName.has(name) ? load(`assets/${encodeURIComponent(name)}`) : undefined);

/** The newest index; null where it is the one that is shown. Of one that is known only what has changed is sent. */
async function readIndex() {
  const news = await ask("data/index", { headers: version ? { "If-None-Match": `"${version}"` } : {} });
  if (!news) return null;
  version = news.version;
  site.at = news.at;
  fetched.clear();
  if (news.whole) return { ...news.index, assets: news.assets };
  const rows = new Map(news.assets.map((row) => [row.name, row]));
  return { ...site.index, ...news.index, assets: site.index.assets.map((row) => rows.get(row.name) || row) };
}

let waiting = 0;
/** Asks for news now, and again and again after that. */
async function follow() {
  clearTimeout(waiting);
  let live = "live";
  try {
    const index = site.index && (await readIndex());
    if (index) {
      takeIndex(index);
      site.live = live;
      await renewPage();
      showProblem(index.problem);
    }
  } catch {
    live = "not connected";
  }
  if (site.live !== live && site.index) {
    site.live = live;
    renew(document.querySelector(".as-of"), asOf());
  }
  waiting = setTimeout(follow, document.hidden ? 10 * POLL : POLL);
}

const problem = h("div", { id: "problem", class: "alarm", role: "alert", hidden: true });
/** Says why the report is older than the journal. */
function showProblem(text) {
  problem.hidden = !text;
  if (text) show(problem, h("b", null, "This page is not up to date: "), text);
}

site.live = "live";
document.getElementById("main").before(problem);
document.addEventListener("visibilitychange", () => document.hidden || follow());
history.replaceState(null, "", location.pathname + location.hash); // without the token
waiting = setTimeout(follow, POLL);
