// The asset graph, with conditions as gates: a neighbourhood laid out by dagre, a very large whole by layers.

const CAREFULLY = 140;
const MOST_NODES = 2500; // a browser draws ten thousand for half a minute, and nobody finds anything in it
const NODE = { height: 34, least: 90, letter: 7.1 };

/** The nodes and edges around some assets, so many steps up and down; all without a focus. */
function around(graph, focus, depth) {
  if (!focus) return graph;
  const up = new Map();
  const down = new Map();
  for (const edge of graph.edges) {
    up.set(edge.to, [...(up.get(edge.to) || []), edge]);
    down.set(edge.from, [...(down.get(edge.from) || []), edge]);
  }
  const kinds = new Map(graph.nodes.map((node) => [node.id, node.kind]));
  const near = new Set([focus]);
  const walk = (id, left, ways, end) => {
    for (const edge of ways.get(id) || []) {
      const next = edge[end];
      const gate = ["all", "any", "timetable"].includes(kinds.get(next));
      if (!gate && left <= 0) continue;
      near.add(next);
      if (gate || left > 1) walk(next, gate ? left : left - 1, ways, end);
    }
  };
  walk(focus, depth, up, "from");
  walk(focus, depth, down, "to");
  for (const edge of graph.edges) if (near.has(edge.to) && kinds.get(edge.from) === "timetable") near.add(edge.from);
  return {
    nodes: graph.nodes.filter((node) => near.has(node.id)),
    edges: graph.edges.filter((edge) => near.has(edge.from) && near.has(edge.to)),
  };
}

function sizeOf(node) {
  if (node.kind === "all" || node.kind === "any") return [34, 22];
  if (node.kind === "timetable") return [Math.min(240, 26 + node.label.length * 6.2), 24];
  return [Math.max(NODE.least, Math.min(260, 34 + node.label.length * NODE.letter)), NODE.height];
}

function laidOut(part) {
  const dagreGraph = new dagre.graphlib.Graph({ multigraph: true });
  dagreGraph.setGraph({
    rankdir: "LR",
    nodesep: 14,
    ranksep: 64,
    edgesep: 8,
    marginx: 12,
    marginy: 12,
    ranker: part.nodes.length > 60 ? "tight-tree" : "network-simplex",
  });
  for (const node of part.nodes) {
    const [width, height] = sizeOf(node);
    dagreGraph.setNode(node.id, { width, height });
  }
  part.edges.forEach((edge, place) => dagreGraph.setEdge(edge.from, edge.to, {}, String(place)));
  dagre.layout(dagreGraph);
  const nodes = part.nodes.map((node) => ({ ...node, ...dagreGraph.node(node.id) }));
  const edges = part.edges.map((edge, place) => {
    const [from, to] = [dagreGraph.node(edge.from), dagreGraph.node(edge.to)];
    const between = dagreGraph.edge(edge.from, edge.to, String(place)).points.slice(1, -1);
    const bends = between.filter((point) => point.x > from.x + from.width / 2 + 8 && point.x < to.x - to.width / 2 - 8);
    return {
      ...edge,
      points: [
        { x: from.x + from.width / 2, y: from.y },
        ...(between.length > 1 ? bends : []),
        { x: to.x - to.width / 2, y: to.y },
      ],
    };
  });
  return { nodes, edges, width: dagreGraph.graph().width, height: dagreGraph.graph().height };
}

/** Layers by the longest way from a source, each ordered by where what it reads stands: takes no time for thousands. */
function layered(part) {
  const into = new Map(part.nodes.map((node) => [node.id, []]));
  for (const edge of part.edges) into.get(edge.to)?.push(edge.from);
  const rank = new Map();
  const rankOf = (id, seen) => {
    if (rank.has(id)) return rank.get(id);
    if (seen.has(id)) return 0;
    seen.add(id);
    const found = Math.max(-1, ...(into.get(id) || []).map((each) => rankOf(each, seen))) + 1;
    rank.set(id, found);
    return found;
  };
  for (const node of part.nodes) rankOf(node.id, new Set());
  const layers = [];
  for (const node of part.nodes) (layers[rank.get(node.id)] ??= []).push(node);
  const place = new Map();
  const nodes = [];
  let x = 16;
  let height = 0;
  for (const layer of layers) {
    const pull = (node) => {
      const ups = (into.get(node.id) || []).map((id) => place.get(id)).filter((each) => each !== undefined);
      return ups.length ? ups.reduce((sum, each) => sum + each, 0) / ups.length : place.size;
    };
    const ordered = layer.map((node) => [pull(node), node]).sort((a, b) => a[0] - b[0]);
    const wide = Math.max(...layer.map((node) => sizeOf(node)[0]));
    ordered.forEach(([, node], row) => {
      const [width, tall] = sizeOf(node);
      const y = 24 + row * (NODE.height + 8);
      place.set(node.id, y);
      nodes.push({ ...node, x: x + wide / 2, y, width, height: tall });
      height = Math.max(height, y + NODE.height);
    });
    x += wide + 90;
  }
  const known = new Map(nodes.map((node) => [node.id, node]));
  const edges = part.edges
    .filter((edge) => known.has(edge.from) && known.has(edge.to))
    .map((edge) => {
      const [from, to] = [known.get(edge.from), known.get(edge.to)];
      return {
        ...edge,
        points: [
          { x: from.x + from.width / 2, y: from.y },
          { x: to.x - to.width / 2, y: to.y },
        ],
      };
    });
  return { nodes, edges, width: x, height };
}

/** A line through points that leaves and comes level. */
function pathOf([first, ...rest]) {
  let [path, x] = [`M${first.x},${first.y}`, first.x];
  let y = first.y;
  for (const point of rest) {
    const middle = (x + point.x) / 2;
    path += `C${middle},${y} ${middle},${point.y} ${point.x},${point.y}`;
    [x, y] = [point.x, point.y];
  }
  return path;
}

function nodeShape(node, focus) {
  const [x, y] = [node.x - node.width / 2, node.y - node.height / 2];
  if (node.kind === "all" || node.kind === "any") {
    return svg(
      "g",
      { class: "gate" },
      svg("title", null, node.kind === "all" ? "all of these" : "any of these"),
      svg("rect", { x, y, width: node.width, height: node.height, rx: 11 }),
      svg("text", { x: node.x, y: node.y + 4, "text-anchor": "middle" }, node.label),
    );
  }
  if (node.kind === "timetable") {
    return svg(
      "g",
      { class: "clock" },
      svg("title", null, node.label),
      svg("rect", { x, y, width: node.width, height: node.height, rx: 12 }),
      svg("text", { x: x + 10, y: node.y + 4 }, `◷ ${cut(node.label, (node.width - 26) / 6.2)}`),
    );
  }
  const asset = site.byName.get(node.id);
  const state = asset ? assetState(asset) : "source";
  const shape = [
    svg(
      "title",
      null,
      asset
        ? `${node.label}: ${statusOf(state).label}${asset.description ? ` – ${asset.description}` : ""}`
        : `${node.label}: no asset of this project writes it`,
    ),
    svg("rect", { x, y, width: node.width, height: node.height, rx: node.kind === "asset" ? 5 : 16 }),
    svg("rect", { class: `fill-${statusOf(state).tone} bar`, x: x + 8, y: node.y - 6, width: 12, height: 12, rx: 3 }),
    svg("text", { class: "mark", x: x + 14, y: node.y + 3.5, "text-anchor": "middle" }, statusOf(state).mark),
    svg("text", { x: x + 27, y: node.y + 4 }, cut(node.label, (node.width - 34) / NODE.letter)),
  ];
  const classes = `node ${node.kind}${node.id === focus ? " focus" : ""}`;
  return asset
    ? svg("a", { href: address(["asset", node.id]), class: classes, data: { node: node.id } }, shape)
    : svg("g", { class: classes, data: { node: node.id } }, shape);
}

const cut = (text, letters) =>
  text.length <= letters + 1 ? text : `${text.slice(0, Math.max(1, Math.floor(letters) - 1))}…`;

/** The graph as a picture that is moved by dragging, and zoomed by the wheel, two fingers, or + and -. */
function graphView(graph, { focus, depth, tall = 560 }) {
  const part = around(graph, focus, depth);
  if (!part.nodes.length) return empty("There is nothing to draw.");
  if (part.nodes.length > MOST_NODES)
    return empty(`${number(part.nodes.length)} nodes are too many to draw.`, "Name an asset to see what is around it.");
  const layout = part.nodes.length > CAREFULLY ? layered(part) : laidOut(part);
  const view = { x: 0, y: 0, zoom: 1 };
  const scene = svg("g");
  const arrows = svg(
    "marker",
    {
      id: "arrow",
      viewBox: "0 0 8 8",
      refX: 7,
      refY: 4,
      markerWidth: 8,
      markerHeight: 8,
      markerUnits: "userSpaceOnUse",
      orient: "auto",
    },
    svg("path", { d: "M0,0L8,4L0,8Z" }),
  );
  const picture = svg(
    "svg",
    {
      class: layout.nodes.length > CAREFULLY ? "graph crowded" : "graph",
      role: "group",
      "aria-label": "Asset graph",
      tabindex: "0",
    },
    svg("defs", null, arrows),
    scene,
  );
  scene.append(
    ...layout.edges.map((edge) =>
      svg(
        "path",
        {
          class: `edge ${edge.kind}`,
          d: pathOf(edge.points),
          "marker-end": "url(#arrow)",
          data: { from: edge.from, to: edge.to },
        },
        svg(
          "title",
          null,
          `${edge.from} → ${edge.to}: ${edge.kind}${edge.gates.length ? ` (${edge.gates.join(", ")})` : ""}`,
        ),
      ),
    ),
    ...layout.edges
      .filter((edge) => edge.gates.length && layout.nodes.length <= CAREFULLY)
      .map((edge) => {
        const [from, to] = edge.points.slice(-2);
        return svg(
          "text",
          { class: "gates", x: to.x - 10, y: to.y + (to.y < from.y ? -5 : -6), "text-anchor": "end" },
          cut(edge.gates.join(", "), 30),
        );
      }),
    ...layout.nodes.map((node) => nodeShape(node, focus)),
  );
  const place = () => scene.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.zoom})`);
  const wide = () => picture.clientWidth || 800;
  const high = () => picture.clientHeight || tall;
  const fit = (all) => {
    view.zoom = Math.min(1.1, Math.max(0.12, Math.min(wide() / layout.width, high() / layout.height)));
    view.x = Math.max(0, (wide() - layout.width * view.zoom) / 2);
    view.y = Math.max(0, (high() - layout.height * view.zoom) / 2);
    const middle = layout.nodes.find((node) => node.id === focus);
    if (middle && view.zoom < 0.6) {
      view.zoom = 0.8;
      view.x = wide() / 2 - middle.x * view.zoom;
      view.y = high() / 2 - middle.y * view.zoom;
    }
    const least = 0.7; // names can be read; what does not fit is a drag away
    if (!all && !middle && view.zoom < least)
      [view.zoom, view.x, view.y] = [least, 0, Math.max(0, (high() - layout.height * least) / 2)];
    if (!all && layout.nodes.length > CAREFULLY) [view.zoom, view.x, view.y] = [0.75, 0, 0];
    place();
  };
  const zoom = (by, x = wide() / 2, y = high() / 2) => {
    const next = Math.min(3, Math.max(0.08, view.zoom * by));
    view.x = x - ((x - view.x) * next) / view.zoom;
    view.y = y - ((y - view.y) * next) / view.zoom;
    view.zoom = next;
    place();
  };
  picture.style.height = `${tall}px`;
  picture.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== picture) return;
      event.preventDefault();
      const bounds = picture.getBoundingClientRect();
      zoom(event.deltaY < 0 ? 1.15 : 0.87, event.clientX - bounds.left, event.clientY - bounds.top);
    },
    { passive: false },
  );
  const pointers = new Map();
  let moved = 0;
  picture.addEventListener("pointerdown", (event) => {
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
    moved = 0;
  });
  picture.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const others = [...pointers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    if (others.length) {
      const far = (at) => Math.hypot(at[0] - others[0][0], at[1] - others[0][1]) || 1;
      zoom(far([event.clientX, event.clientY]) / far(before));
    } else {
      view.x += event.clientX - before[0];
      view.y += event.clientY - before[1];
      place();
    }
    moved += Math.abs(event.clientX - before[0]) + Math.abs(event.clientY - before[1]);
    pointers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  for (const end of ["pointerup", "pointercancel", "pointerleave"])
    picture.addEventListener(end, (event) => pointers.delete(event.pointerId));
  picture.addEventListener("click", (event) => moved > 6 && event.preventDefault(), true);
  const MOVES = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
  picture.addEventListener("keydown", (event) => {
    const move = MOVES[event.key];
    if (move) [view.x, view.y] = [view.x + move[0], view.y + move[1]];
    else if (event.key === "+" || event.key === "=") return zoom(1.2);
    else if (event.key === "-") return zoom(0.83);
    else if (event.key === "0") return fit(true);
    else return undefined;
    event.preventDefault();
    return place();
  });
  const near = (event) => {
    const id = event.target.closest?.("[data-node]")?.dataset.node;
    for (const line of scene.querySelectorAll("path.edge"))
      line.classList.toggle("near", id !== undefined && (line.dataset.from === id || line.dataset.to === id));
  };
  for (const moved_ of ["pointerover", "focusin"]) picture.addEventListener(moved_, near);
  requestAnimationFrame(() => fit(false));
  const tools = h(
    "div",
    { class: "tools" },
    h("button", { onclick: () => zoom(1.25), "aria-label": "Zoom in", title: "Zoom in (+)" }, "+"),
    h("button", { onclick: () => zoom(0.8), "aria-label": "Zoom out", title: "Zoom out (-)" }, "−"),
    h("button", { onclick: () => fit(true), title: "Show all of it (0)" }, "Fit"),
  );
  const drawn = h("div", { class: "drawn" }, picture, tools);
  drawn.shape = JSON.stringify(part);
  drawn.scene = scene;
  drawn.renew = (fresh) =>
    fresh.shape === drawn.shape ? renewChildren(scene, [...fresh.scene.childNodes]) : drawn.replaceWith(fresh);
  return drawn;
}

function graphPage({ query }) {
  const graph = site.index.graph;
  const focus = site.byName.has(query.focus) ? query.focus : "";
  const depth = Math.min(6, Math.max(1, Number(query.depth) || 2));
  const go = (changes) => (location.hash = address(["graph"], { focus, depth: focus ? depth : "", ...changes }));
  const list = h(
    "datalist",
    { id: "graph-assets" },
    site.index.assets.map((asset) => h("option", { value: asset.name })),
  );
  const field = h("input", {
    type: "search",
    list: "graph-assets",
    value: focus,
    placeholder: "Around an asset…",
    "aria-label": "Around an asset",
    onchange: (event) => go({ focus: event.target.value }),
  });
  const key = h(
    "p",
    { class: "key" },
    h("span", null, h("i", { class: "sample reads" }), "reads"),
    h("span", null, h("i", { class: "sample waits" }), "waits for"),
    h("span", null, h("i", { class: "sample triggers" }), "triggers"),
    h("span", null, h("i", { class: "sample writes" }), "writes"),
    quiet("Drag to move; click into it, then wheel or + and − to zoom."),
  );
  return h(
    "div",
    null,
    h(
      "header",
      { class: "page" },
      h("h1", null, "Graph"),
      h(
        "div",
        { class: "tools" },
        field,
        list,
        focus &&
          choices(
            "Steps",
            [
              [1, "1 step"],
              [2, "2"],
              [3, "3"],
              [6, "6"],
            ],
            depth,
            (value) => go({ depth: value }),
          ),
        focus && h("button", { onclick: () => go({ focus: "", depth: "" }) }, "Whole project"),
      ),
    ),
    graphView(graph, { focus, depth, tall: window.innerWidth < 720 ? 460 : Math.max(420, window.innerHeight - 210) }),
    key,
  );
}
