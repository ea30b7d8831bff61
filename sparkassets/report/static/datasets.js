// Datasets: who writes and who reads what.

function datasetsPage({ query }) {
  const results = h("div");
  const list = (names) =>
    names.length > 6
      ? [
          names.slice(0, 6).map((name) => h("div", null, assetLink(name))),
          quiet(`and ${number(names.length - 6)} more`),
        ]
      : names.map((name) => h("div", null, assetLink(name)));
  let text = query.q || "";
  const list_ = () => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = site.index.datasets.filter((each) =>
      words.every((word) => [each.uri, ...each.assets].some((name) => name.toLowerCase().includes(word))),
    );
    return table(
      [
        {
          title: "Dataset",
          cell: (each) => [
            h("span", { class: "mono break" }, each.uri),
            each.assets.some((name) => name !== each.uri) &&
              h(
                "div",
                null,
                each.assets.map((name) => [assetLink(name), " "]),
              ),
          ],
        },
        {
          title: "Written by",
          cell: (each) => (each.writers.length ? list(each.writers) : quiet("others")),
          fit: true,
        },
        { title: "Read by", cell: (each) => (each.readers.length ? list(each.readers) : quiet("nobody")), fit: true },
        {
          title: "Partitions there",
          cell: (each) => (each.partitions === undefined || each.partitions === null ? "" : number(each.partitions)),
          right: true,
          fit: true,
          wide: true,
        },
        { title: "Updated", cell: (each) => moment(each.updated), fit: true, wide: true },
      ],
      rows,
      { none: "No dataset is like that." },
    );
  };
  const update = (words) => {
    text = words;
    show(results, list_());
  };
  update(text);
  const page = h(
    "div",
    null,
    h(
      "header",
      { class: "page" },
      h("h1", null, "Datasets"),
      h(
        "div",
        { class: "tools" },
        h("input", {
          type: "search",
          value: text,
          placeholder: "Filter…",
          "aria-label": "Filter",
          oninput: later((event) => update(event.target.value)),
        }),
      ),
    ),
    results,
  );
  page.renew = () => renew(results.firstElementChild, list_());
  return page;
}
