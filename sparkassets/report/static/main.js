// The shell: header, pages by address, theme, keyboard.

const PAGES = [
  ["", "Overview", "o"],
  ["assets", "Assets", "a"],
  ["graph", "Graph", "g"],
  ["runs", "Runs", "r"],
  ["datasets", "Datasets", "d"],
];
const ROUTES = {
  "": overviewPage,
  assets: assetsPage,
  asset: assetPage,
  graph: graphPage,
  runs: runsPage,
  run: runPage,
  datasets: datasetsPage,
};
const PART_OF = { asset: "assets", run: "runs" };
const THEMES = ["auto", "light", "dark"];
const main = document.getElementById("main");
let listeners = [];
let turn = 0;

/** Calls back when the colours change, as long as the element is shown. */
function onTheme(element, work) {
  listeners.push({ element, work });
}

function remember(name, value) {
  try {
    if (value !== undefined) localStorage.setItem(`sparkassets.${name}`, value);
    return localStorage.getItem(`sparkassets.${name}`);
  } catch {
    return null;
  }
}

function setTheme(name) {
  root.dataset.theme = name;
  document.getElementById("theme")?.replaceChildren({ auto: "◐ Auto", light: "○ Light", dark: "● Dark" }[name]);
  listeners.forEach(({ work }) => work());
}

function notFound(text, target, label) {
  return h(
    "div",
    null,
    h("header", { class: "page" }, h("h1", null, "Not in this report")),
    empty(text),
    h("p", null, h("a", { href: target }, label)),
  );
}

async function go() {
  const target = read(location.hash);
  const mine = (turn += 1);
  const name = target.parts[0] || "";
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.dataset.page === (PART_OF[name] || name)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  listeners = [];
  document.querySelector("dialog")?.close();
  const content = await layOut(target);
  if (mine !== turn) return;
  const same = main.dataset.path === target.parts.slice(0, 2).join("/");
  show(main, content);
  main.dataset.path = target.parts.slice(0, 2).join("/");
  main.dataset.ready = location.hash || "#/";
  document.title = [target.parts[1] || PAGES.find(([id]) => id === name)?.[1], site.index.project]
    .filter(Boolean)
    .join(" · ");
  if (target.query.partition) document.getElementById("partition")?.scrollIntoView({ block: "nearest" });
  else if (!same) window.scrollTo(0, 0);
}

/** The page of an address, or what keeps it from being shown. */
async function layOut(target) {
  const page = ROUTES[target.parts[0] || ""];
  try {
    return page ? await page(target) : notFound("There is no such page.", "#/", "Overview");
  } catch (error) {
    console.error(error);
    return h(
      "div",
      null,
      h("header", { class: "page" }, h("h1", null, "This page cannot be shown")),
      empty(error.message),
    );
  }
}

/** Brings the page that is open up to date, in place: focus, scrolling and what was typed stay as they are. */
async function renewPage() {
  const mine = turn;
  const content = await layOut(read(location.hash));
  if (mine !== turn) return;
  renew(main.firstElementChild, content);
  renew(document.querySelector(".as-of"), asOf());
  listeners = listeners.filter(({ element }) => element.isConnected);
}

const asOf = () =>
  h(
    "span",
    { class: "as-of", title: `${clock(site.at)} ${site.index.timezone}` },
    site.live && [h("span", { class: site.live === "live" ? "live" : "live lost" }, `● ${site.live}`), " "],
    "as of ",
    moment(site.at),
    " ",
    quiet(`(${ago(site.at)})`),
  );

function shell() {
  const { index } = site;
  const theme = h("button", {
    id: "theme",
    class: "plain",
    title: "Light, dark, or as the system",
    onclick: () => {
      const next = THEMES[(THEMES.indexOf(root.dataset.theme) + 1) % THEMES.length];
      remember("theme", next);
      setTheme(next);
    },
  });
  show(
    document.getElementById("top"),
    h("a", { class: "brand", href: "#/" }, h("span", { class: "logo", "aria-hidden": "true" }), index.project),
    searchBox(),
    asOf(),
    h("button", { class: "plain", title: "Keyboard (?)", "aria-label": "Keyboard", onclick: keys }, "?"),
    theme,
  );
  show(
    document.getElementById("nav"),
    PAGES.map(([id, label]) => h("a", { href: id ? address([id]) : "#/", data: { page: id } }, label)),
  );
  setTheme(remember("theme") || "auto");
}

function keys() {
  const known = document.querySelector("dialog");
  if (known) return known.close();
  const dialog = h(
    "dialog",
    {
      "aria-label": "Keyboard",
      onclose: () => dialog.remove(),
      onclick: (event) => event.target === dialog && dialog.close(),
    },
    h("h2", null, "Keyboard"),
    facts([
      [h("kbd", null, "/"), "search"],
      ...PAGES.map(([, label, letter]) => [[h("kbd", null, "g"), " ", h("kbd", null, letter)], label]),
      [h("kbd", null, "t"), "light or dark"],
      [
        [h("kbd", null, "←"), " ", h("kbd", null, "→"), " ", h("kbd", null, "↑"), " ", h("kbd", null, "↓")],
        "move in a grid, or the graph",
      ],
      [h("kbd", null, "Enter"), "open the partition"],
      [[h("kbd", null, "+"), " ", h("kbd", null, "−"), " ", h("kbd", null, "0")], "zoom the graph"],
    ]),
  );
  document.body.append(dialog);
  return dialog.showModal();
}

let went = 0;
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input, select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const page = Date.now() - went < 3000 && PAGES.find(([, , letter]) => letter === event.key);
  went = event.key === "g" && !page ? Date.now() : 0;
  if (page) location.hash = page[0] ? address([page[0]]) : "#/";
  else if (event.key === "/") {
    event.preventDefault();
    document.getElementById("search").select();
  } else if (event.key === "t") document.getElementById("theme").click();
  else if (event.key === "?") keys();
});
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => listeners.forEach(({ work }) => work()));
root.dataset.theme = remember("theme") || "auto";
load("index").then(
  (index) => {
    takeIndex(index);
    shell();
    window.addEventListener("hashchange", go);
    return go();
  },
  (error) => show(main, empty(error.message)),
);
