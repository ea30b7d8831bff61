// The partition grid: time by segments, drawn as far as it is seen, so that a hundred thousand partitions scroll freely.

const CELL = 15;
const GAP = 2;
const STEP = CELL + GAP;
const WRAPS = {
  day: [7, (key) => Number(key.slice(8, 10)) - 1, 31],
  hour: [10, (key) => Number(key.slice(11, 13)), 24],
  month: [4, (key) => Number(key.slice(5, 7)) - 1, 12],
};

/** The partitions of an asset as a function of row and column, whatever their dimensions are. */
function makeCellMap(cells) {
  const rows = [];
  for (const group of cells.groups) {
    const codes = [];
    for (let i = 0; i < group.cells.length; i += 2)
      for (let n = 0; n < group.cells[i]; n += 1) codes.push(group.cells[i + 1]);
    for (const segment of group.segments) rows.push({ segment, codes });
  }
  rows.sort((a, b) => (a.segment < b.segment ? -1 : 1));
  const timed = cells.time_at >= 0;
  const keyOf = (row, time) => {
    const parts = cells.columns.length ? row.segment.split(",") : [];
    if (timed) parts.splice(cells.time_at, 0, cells.times[time]);
    return parts.join(",");
  };
  const places = new Map(cells.times.map((key, place) => [key, place]));
  const segments = new Map(rows.map((row, place) => [row.segment, place]));
  return {
    rows,
    timed,
    count: timed ? cells.times.length : 1,
    keyOf,
    code: (row, time) => rows[row].codes[time] ?? -1,
    find(key) {
      const parts = key.split(",");
      const time = timed ? places.get(parts.splice(cells.time_at, 1)[0]) : 0;
      const row = segments.get(parts.join(","));
      return time === undefined || row === undefined ? null : { row, time };
    },
  };
}

/** Where each partition is drawn: by row and column of a lattice, with the words beside rows and above columns. */
function lattice(cells, map) {
  if (cells.columns.length) {
    const labels = map.rows.map((row) => row.segment);
    const heads = [];
    cells.times.forEach((key, place) => {
      const head = key.slice(0, cells.grain === "hour" ? 10 : 7);
      if (!heads.length || heads.at(-1)[1] !== head) heads.push([place, head]);
    });
    return {
      rows: labels.length,
      columns: map.count,
      labels,
      heads,
      at: (row, column) => (column < map.count ? { row, time: column } : null),
      of: ({ row, time }) => ({ row, column: time }),
    };
  }
  const [cut, place, wide] = WRAPS[cells.grain] || [0, null, 30];
  const labels = [];
  const lines = [];
  const where = [];
  cells.times.forEach((key, time) => {
    const label = place ? key.slice(0, cut) : null;
    if (place ? labels.at(-1) !== label : time % wide === 0) {
      labels.push(place ? label : key);
      lines.push([]);
    }
    const line = lines.at(-1);
    let column = place ? place(key) : line.length;
    if (!(column >= 0) || line[column] !== undefined) column = line.length;
    line[column] = time;
    where[time] = { row: lines.length - 1, column };
  });
  const columns = Math.max(wide, ...lines.map((line) => line.length));
  const heads =
    cells.grain === "day"
      ? [0, 9, 19, 29].map((n) => [n, String(n + 1)])
      : cells.grain === "hour"
        ? [0, 6, 12, 18].map((n) => [n, `${n}h`])
        : cells.grain === "month"
          ? [0, 3, 6, 9].map((n) => [n, String(n + 1)])
          : [];
  return {
    rows: labels.length,
    columns,
    labels,
    heads,
    at: (row, column) => (lines[row]?.[column] === undefined ? null : { row: 0, time: lines[row][column] }),
    of: ({ time }) => where[time],
  };
}

const probe = document.body.appendChild(h("i", { hidden: true }));

/** Colours for a canvas, by the name of their property, as the theme resolves them now. */
const tones = () => {
  const known = {};
  return (name) => {
    if (!known[name]) {
      probe.style.color = `var(${name})`;
      known[name] = getComputedStyle(probe).color;
    }
    return known[name];
  };
};

/** Draws one partition: its colour and a mark, so that it can be told without the colour. */
function drawCell(pen, x, y, status, tone, colour) {
  const fill = colour(`--fill-${tone}`);
  pen.lineWidth = 1;
  if (tone === "missing" || tone === "open") {
    pen.strokeStyle = colour(tone === "open" ? "--line" : "--fill-missing");
    pen.strokeRect(x + 0.5, y + 0.5, CELL - 1, CELL - 1);
    return;
  }
  pen.fillStyle = fill;
  pen.fillRect(x, y, CELL, CELL);
  pen.strokeStyle = pen.fillStyle = colour("--on-fill");
  pen.lineWidth = 1.6;
  pen.beginPath();
  if (tone === "failed") {
    pen.moveTo(x + 4, y + 4);
    pen.lineTo(x + CELL - 4, y + CELL - 4);
    pen.moveTo(x + CELL - 4, y + 4);
    pen.lineTo(x + 4, y + CELL - 4);
  } else if (tone === "stale") {
    pen.moveTo(x + CELL - 3, y + 4);
    pen.lineTo(x + CELL - 3, y + CELL - 3);
    pen.lineTo(x + 4, y + CELL - 3);
    pen.closePath();
    pen.fill();
    return;
  } else if (tone === "withheld") {
    pen.moveTo(x + CELL / 2, y + 3);
    pen.lineTo(x + CELL / 2, y + 8.5);
    pen.moveTo(x + CELL / 2, y + 10.5);
    pen.lineTo(x + CELL / 2, y + 12);
  } else if (tone === "running") {
    pen.moveTo(x + 5.5, y + 4);
    pen.lineTo(x + 11, y + CELL / 2);
    pen.lineTo(x + 5.5, y + CELL - 4);
    pen.closePath();
    pen.fill();
    return;
  } else if (tone === "quiet") {
    pen.moveTo(x + 4, y + CELL / 2);
    pen.lineTo(x + CELL - 4, y + CELL / 2);
  } else if (tone === "kept") {
    pen.arc(x + CELL / 2, y + CELL / 2, 2, 0, 7);
    pen.fill();
    return;
  }
  pen.stroke();
}

/**
 * The grid of an asset. `pick(key)` is called with the partition that somebody chose; `chosen` is the key of the first one.
 */
function grid(cells, { pick, chosen, label }) {
  const map = makeCellMap(cells);
  if (!map.rows.length) return { element: empty("No partition is wanted or there yet."), map };
  const place = lattice(cells, map);
  const only = new Set();
  const canvas = h("canvas");
  const spacer = h("div", { class: "spacer" });
  const box = h(
    "div",
    {
      class: "grid",
      tabindex: "0",
      role: "application",
      "aria-label": `Partitions of ${label}: arrow keys move, Enter opens`,
      "aria-describedby": "partition-read",
    },
    h("div", { class: "pane" }, canvas),
    spacer,
  );
  const caption = h("p", { class: "read", id: "partition-read", "aria-live": "polite" });
  const pen = canvas.getContext("2d");
  pen.font = "11px ui-monospace, monospace";
  const left = Math.min(220, Math.max(0, ...place.labels.map((text) => text.length)) * 6.7 + 18);
  const top = place.heads.length ? 18 : 4;
  let at = chosen ? map.find(chosen) : null;
  let over = null;

  const tell = (spot) => {
    if (!spot) return show(caption, quiet("Point at a partition, or use the arrow keys."));
    const cell = cells.codes[map.code(spot.row, spot.time)];
    const key = map.keyOf(map.rows[spot.row], spot.time) || "all";
    return show(
      caption,
      h("b", { class: "mono" }, key),
      " ",
      cell ? badge(cell[0]) : quiet("not wanted"),
      cell && cell[1] >= 0 ? ` ${cells.causes[cell[1]]}` : "",
    );
  };

  const draw = () => {
    const wide = box.clientWidth;
    const tall = box.clientHeight;
    const sharp = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(wide * sharp) || canvas.height !== Math.round(tall * sharp)) {
      canvas.width = Math.round(wide * sharp);
      canvas.height = Math.round(tall * sharp);
      canvas.style.width = `${wide}px`;
      canvas.style.height = `${tall}px`;
    }
    pen.setTransform(sharp, 0, 0, sharp, 0, 0);
    pen.clearRect(0, 0, wide, tall);
    const find = tones();
    const known = {};
    const colour = (name) => (known[name] ??= find(name));
    const x0 = left - box.scrollLeft;
    const y0 = top - box.scrollTop;
    const firstColumn = Math.max(0, Math.floor(box.scrollLeft / STEP));
    const lastColumn = Math.min(place.columns - 1, Math.ceil((box.scrollLeft + wide) / STEP));
    const firstRow = Math.max(0, Math.floor(box.scrollTop / STEP));
    const lastRow = Math.min(place.rows - 1, Math.ceil((box.scrollTop + tall) / STEP));
    for (let row = firstRow; row <= lastRow; row += 1) {
      for (let column = firstColumn; column <= lastColumn; column += 1) {
        const spot = place.at(row, column);
        const cell = spot && cells.codes[map.code(spot.row, spot.time)];
        if (!cell) continue;
        pen.globalAlpha = only.size && !only.has(cell[0]) ? 0.12 : 1;
        drawCell(pen, x0 + column * STEP, y0 + row * STEP, cell[0], statusOf(cell[0]).tone, colour);
      }
    }
    pen.globalAlpha = 1;
    for (const [spot, line] of [
      [over, 1],
      [at, 2],
    ]) {
      if (!spot) continue;
      const { row, column } = place.of(spot);
      pen.strokeStyle = colour("--ink");
      pen.lineWidth = line;
      pen.strokeRect(x0 + column * STEP - 1.5, y0 + row * STEP - 1.5, CELL + 3, CELL + 3);
    }
    pen.fillStyle = colour("--panel");
    pen.fillRect(0, 0, left - 3, tall);
    pen.fillRect(0, 0, wide, top - 2);
    pen.fillStyle = colour("--muted");
    pen.font = "11px ui-monospace, monospace";
    pen.textBaseline = "middle";
    for (let row = firstRow; row <= lastRow; row += 1)
      pen.fillText(place.labels[row], 9, y0 + row * STEP + CELL / 2, left - 16);
    let free = left;
    for (const [column, text] of place.heads) {
      const x = x0 + column * STEP;
      if (x < free - 1 || x > wide) continue;
      pen.fillText(text, x, top / 2 - 1);
      free = x + pen.measureText(text).width + 8;
    }
    pen.fillStyle = colour("--panel");
    pen.fillRect(0, 0, left - 3, top - 2);
  };
  const redraw = () => requestAnimationFrame(draw);

  const spotAt = (event) => {
    const bounds = box.getBoundingClientRect();
    const x = event.clientX - bounds.left - left + box.scrollLeft;
    const y = event.clientY - bounds.top - top + box.scrollTop;
    if (event.clientX - bounds.left < left || event.clientY - bounds.top < top) return null;
    const row = Math.floor(y / STEP);
    const column = Math.floor(x / STEP);
    const spot = row >= 0 && row < place.rows && column >= 0 ? place.at(row, column) : null;
    return spot && cells.codes[map.code(spot.row, spot.time)] ? spot : null;
  };
  const choose = (spot, opens) => {
    at = spot;
    const { row, column } = place.of(spot);
    const x = left + column * STEP;
    const y = top + row * STEP;
    if (x - left < box.scrollLeft) box.scrollLeft = x - left;
    if (x + STEP > box.scrollLeft + box.clientWidth) box.scrollLeft = x + STEP - box.clientWidth;
    if (y - top < box.scrollTop) box.scrollTop = y - top;
    if (y + STEP > box.scrollTop + box.clientHeight) box.scrollTop = y + STEP - box.clientHeight;
    tell(spot);
    redraw();
    if (opens) pick(map.keyOf(map.rows[spot.row], spot.time));
  };
  const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  box.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && at) return choose(at, true);
    const move = MOVES[event.key];
    if (!move) return undefined;
    event.preventDefault();
    let { row, column } = at ? place.of(at) : { row: place.rows - 1, column: place.columns };
    for (let step = 0; step < Math.max(place.rows, place.columns); step += 1) {
      row += at ? move[0] : 0;
      column += at ? move[1] : -1;
      if (row < 0 || row >= place.rows || column < 0 || column > place.columns) return undefined;
      const spot = place.at(row, column);
      if (spot && map.code(spot.row, spot.time) >= 0) return choose(spot, false);
    }
    return undefined;
  });
  box.addEventListener("pointermove", (event) => {
    const spot = spotAt(event);
    if (spot?.row !== over?.row || spot?.time !== over?.time) {
      over = spot;
      tell(over || at);
      redraw();
    }
  });
  box.addEventListener("pointerleave", () => {
    over = null;
    tell(at);
    redraw();
  });
  box.addEventListener("click", (event) => {
    const spot = spotAt(event);
    if (spot) choose(spot, true);
  });
  box.addEventListener("scroll", redraw, { passive: true });
  spacer.style.width = `${left + place.columns * STEP}px`;
  spacer.style.height = `${top + place.rows * STEP}px`;
  new ResizeObserver(redraw).observe(box);
  onTheme(box, redraw);
  tell(at);
  requestAnimationFrame(() => {
    const wide = left + place.columns * STEP > box.clientWidth;
    box.style.height = `${Math.min(top + place.rows * STEP + (wide ? 22 : 8), 420)}px`;
    if (at) choose(at, false);
    else {
      box.scrollLeft = cells.columns.length ? box.scrollWidth : 0;
      box.scrollTop = cells.columns.length ? 0 : box.scrollHeight;
    }
    draw();
  });

  const counts = {};
  for (const row of map.rows)
    for (const code of row.codes) if (code >= 0) counts[cells.codes[code][0]] = (counts[cells.codes[code][0]] || 0) + 1;
  const legend = h(
    "div",
    { class: "legend", role: "group", "aria-label": "Show only" },
    Object.keys(counts)
      .sort((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))
      .map((name) => {
        const button = h(
          "button",
          {
            "aria-pressed": "false",
            onclick: () => {
              only.has(name) ? only.delete(name) : only.add(name);
              button.setAttribute("aria-pressed", String(only.has(name)));
              redraw();
            },
          },
          badge(name),
          h("span", { class: "figure" }, number(counts[name])),
        );
        return button;
      }),
  );
  const omitted = [
    cells.earlier && `${plural(cells.earlier, `earlier ${cells.grain || "time"}`)} left out`,
    cells.others && `${plural(cells.others, "more segment")} left out`,
  ]
    .filter(Boolean)
    .join(", ");
  const element = h("div", { class: "gridded" }, legend, box, caption, omitted && h("p", { class: "quiet" }, omitted));
  element.stamp = JSON.stringify([cells, chosen]);
  return { element, map, counts };
}

/** Stretches of partitions that stand alike, of all segments together, what asks for more first. */
function stretches(cells, map, most) {
  const found = new Map();
  for (const row of map.rows) {
    let begun = 0;
    for (let time = 1; time <= map.count; time += 1) {
      const [status, cause] = cells.codes[row.codes[begun] ?? -1] || [];
      const next = cells.codes[row.codes[time] ?? -1] || [];
      if (time < map.count && next[0] === status && next[1] === cause) continue;
      if (status && !["current", "there", "open"].includes(status)) {
        const key = [status, cause, begun, time].join();
        const known = found.get(key) || {
          status,
          cause: cause >= 0 ? cells.causes[cause] : "",
          begun,
          ended: time - 1,
          segments: [],
          first: map.keyOf(row, time - 1),
        };
        known.segments.push(row.segment);
        found.set(key, known);
      }
      begun = time;
    }
  }
  const all = [...found.values()].sort(
    (a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status) || b.ended - a.ended,
  );
  for (const each of all.slice(0, most)) {
    const span = map.timed ? [cells.times[each.begun], cells.times[each.ended]] : [];
    const segments = cells.columns.length
      ? each.segments.length === map.rows.length
        ? "all segments"
        : each.segments.slice(0, 4).join("; ") +
          (each.segments.length > 4 ? ` and ${each.segments.length - 4} more` : "")
      : "";
    each.text = [span[0] === span[1] ? span[0] : span.join(" … "), segments].filter(Boolean).join(" · ");
    each.count = (each.ended - each.begun + 1) * each.segments.length;
  }
  return { some: all.slice(0, most), all: all.length };
}
