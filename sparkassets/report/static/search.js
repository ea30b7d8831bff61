// The search: assets, columns, datasets and runs, by any words, from the keyboard.

function matches(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const found = [];
  for (const asset of site.index.assets) {
    asset.sought ??= [
      asset.name,
      asset.description,
      asset.owner,
      ...(asset.tags || []),
      ...(asset.columns || []).flat(),
    ]
      .join(" ")
      .toLowerCase();
    if (!words.every((word) => asset.sought.includes(word))) continue;
    const name = asset.name.toLowerCase();
    const columns = (asset.columns || [])
      .map((column) => column.join(": "))
      .filter((column) => words.some((word) => column.toLowerCase().includes(word)));
    const score =
      name === text ? 0 : name.startsWith(words[0]) ? 1 : words.every((word) => name.includes(word)) ? 2 : 3;
    const why =
      score === 3
        ? columns.length
          ? `column ${columns[0]}`
          : asset.tags?.find((tag) => words.some((word) => tag.toLowerCase().includes(word))) ||
            asset.description ||
            asset.owner
        : asset.description;
    found.push({ score, href: address(["asset", asset.name]), name: asset.name, why, state: assetState(asset) });
  }
  for (const dataset of site.index.datasets)
    if (words.every((word) => dataset.uri.toLowerCase().includes(word)) && !dataset.assets.includes(dataset.uri))
      found.push({ score: 4, href: address(["datasets"], { q: dataset.uri }), name: dataset.uri, why: "dataset" });
  for (const run of site.past?.runs || [])
    if (found.length < 200 && words.every((word) => run.run.toLowerCase().includes(word)))
      found.push({ score: 5, href: address(["run", run.run]), name: run.run, why: "run", state: run.status });
  return found.sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1)).slice(0, 40);
}

/** The field in the header, with what it finds below it. */
function searchBox() {
  const list = h("ul", { id: "found", role: "listbox", "aria-label": "Found", hidden: true });
  const field = h("input", {
    type: "search",
    id: "search",
    placeholder: "Search",
    "aria-label": "Search assets, columns, datasets and runs",
    role: "combobox",
    "aria-expanded": "false",
    "aria-controls": "found",
    autocomplete: "off",
    spellcheck: "false",
  });
  let at = 0;
  const close = () => {
    list.hidden = true;
    field.setAttribute("aria-expanded", "false");
  };
  const mark = () => {
    [...list.children].forEach((item, place) => item.setAttribute("aria-selected", String(place === at)));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", list.children[at]?.id || "");
  };
  const update = () => {
    const found = matches(field.value.trim());
    at = 0;
    show(
      list,
      found.map((each, place) =>
        h(
          "li",
          { role: "option", id: `found-${place}` },
          h(
            "a",
            { href: each.href, tabindex: "-1", onclick: close },
            h("b", null, each.name),
            each.state && badge(each.state),
            each.why && quiet(each.why),
          ),
        ),
      ),
      field.value.trim() && !found.length && h("li", { class: "quiet" }, "Nothing is called that."),
    );
    list.hidden = !field.value.trim();
    field.setAttribute("aria-expanded", String(!list.hidden));
    mark();
  };
  field.addEventListener("focus", () => {
    loadHistory().catch(() => {});
    if (field.value) update();
  });
  field.addEventListener("input", update);
  field.addEventListener("keydown", (event) => {
    const many = list.querySelectorAll("a").length;
    if (event.key === "ArrowDown") at = Math.min(many - 1, at + 1);
    else if (event.key === "ArrowUp") at = Math.max(0, at - 1);
    else if (event.key === "Enter") {
      list.children[at]?.querySelector("a")?.click();
      return field.blur();
    } else if (event.key === "Escape") {
      close();
      return field.blur();
    } else return undefined;
    event.preventDefault();
    return mark();
  });
  document.addEventListener("pointerdown", (event) => !event.target.closest(".search") && close());
  return h("div", { class: "search" }, field, h("kbd", null, "/"), list);
}
