"use strict";
// Texts of errors and names of operations come from elsewhere: they become text, never markup.
const $ = (id) => document.getElementById(id);
function make(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

const minute = 60e3;
const shown = 5 * minute;       // of events, in the strip
const most_events = 500;
const rows = new Map();         // name -> row, as the program told it last
const history = new Map();      // name of a row -> [{t, row}], one a second, of the last minute
const events = new Map();       // device-number -> event
const served = [];              // {t, models}, as a serving program told it, of the last ten seconds
let last_news = performance.now() - 1e6;
let sort = { by: "rate", falls: true };
let is_dirty = true;

function count(n) {
  if (n === undefined || Number.isNaN(n)) return "–";
  if (n < 10 && !Number.isInteger(n)) return n.toFixed(1);
  if (n < 1e4) return Math.round(n).toString();
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (n >= size) return `${(n / size).toPrecision(3)} ${unit}`;
  }
}
function time(ns) {
  if (ns === undefined) return "–";
  for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]]) {
    if (ns >= size) return `${Number((ns / size).toPrecision(3))} ${unit}`;
  }
  return `${Math.round(ns)} ns`;
}
function bytes(n) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; n >= 1000 && unit < 4; ++unit) n /= 1024;
  return `${Number(n.toPrecision(3))} ${units[unit]}`;
}

// The row as it was about `span` ago, or the oldest that there is.
function before(name, span) {
  const all = history.get(name) ?? [];
  const now = performance.now();
  return all.findLast((one) => now - one.t >= span) ?? all[0];
}
function rate(name, field, span = 2000) {
  const then = before(name, span);
  const passed = then ? performance.now() - then.t : 0;
  const more = passed > 200 ? rows.get(name)[field] - then.row[field] : 0;
  return more > 0 ? (more * 1000) / passed : 0;
}
// What the last ten seconds added to an operation's times.
function recent(name) {
  const now = rows.get(name);
  const then = before(name, 10e3)?.row;
  if (!now.timed || !then) return {};
  const old = new Map(then.buckets ?? []);
  const added = now.buckets.map(([bound, n]) => [bound, n - (old.get(bound) ?? 0)]).filter(([, n]) => n > 0);
  const timed = added.reduce((sum, [, n]) => sum + n, 0);
  if (timed === 0) return {};
  const quantile = (q) => {
    let left = Math.ceil(q * timed);
    for (const [bound, n] of added) {
      left -= n;
      if (left <= 0) return bound;
    }
  };
  const mean = (part) => Math.max(0, now[part] - (then[part] ?? 0)) / timed;
  // On the CPU the executor does the work: its time is that of the device, too.
  const on_cpu = rows.get(`device ${now.device}`)?.backend === "cpu";
  const parts = { queue: mean("queue"), launch: on_cpu ? 0 : mean("launch"), run: mean("run"), wake: mean("wake") };
  return { p50: quantile(0.5), p99: quantile(0.99), parts,
           mean: parts.queue + parts.launch + parts.run + parts.wake };
}

function keep() {
  const now = performance.now();
  for (const [name, row] of rows) {
    if (!/^(device|operation) /.test(name)) continue;
    const all = history.get(name) ?? [];
    if (all.length > 0 && now - all.at(-1).t < 950) continue;
    all.push({ t: now, row });
    while (now - all[0].t > minute + 2000) all.shift();
    history.set(name, all);
  }
}

// Requests a second, of the last minute.
function draw(canvas, name) {
  const wide = canvas.clientWidth, high = canvas.clientHeight;
  const scale = window.devicePixelRatio || 1;
  canvas.width = wide * scale;
  canvas.height = high * scale;
  const to = canvas.getContext("2d");
  to.scale(scale, scale);
  const all = history.get(name) ?? [];
  const now = performance.now();
  const points = all.slice(1).map((one, i) => {
    const passed = one.t - all[i].t;
    return { x: wide * (1 - (now - one.t) / minute),
             y: Math.max(0, one.row.answered - all[i].row.answered) * 1000 / passed };
  });
  const style = getComputedStyle(document.documentElement);
  to.fillStyle = style.getPropertyValue("--line");
  to.fillRect(0, high - 1, wide, 1);
  if (points.length < 2) return;
  const most = Math.max(1, ...points.map((p) => p.y));
  const line = (p) => [p.x, high - 2 - (high - 5) * (p.y / most)];
  to.beginPath();
  points.forEach((p, i) => (i ? to.lineTo(...line(p)) : to.moveTo(...line(p))));
  to.strokeStyle = style.getPropertyValue("--accent");
  to.lineWidth = 1.5;
  to.stroke();
  to.lineTo(points.at(-1).x, high);
  to.lineTo(points[0].x, high);
  to.globalAlpha = 0.14;
  to.fillStyle = to.strokeStyle;
  to.fill();
}

const colour_of = { ready: "good", recovering: "warn", starting: "warn", degraded: "warn" };

// The card of a device is made once, so that nothing flickers, and filled again and again.
const cards = new Map();
function card_of(name) {
  if (cards.has(name)) return cards.get(name);
  const card = make("article", "card");
  const head = make("div", "head");
  const title = make("h3"), what = make("span", "quiet"), state = make("span", "pill");
  head.append(title, what, state);
  const rates = make("div", "rate");
  const per_second = make("b"), unit = make("span", "quiet", "requests/s"), canvas = make("canvas");
  canvas.setAttribute("aria-hidden", "true");
  rates.append(per_second, unit, canvas);
  const facts = make("dl"), lanes = make("ul", "lanes"), bar = make("div", "bar"), memory = make("p", "quiet");
  card.append(head, rates, facts, lanes, bar, memory);
  if (cards.size === 0) $("devices").replaceChildren();
  cards.set(name, { card, title, what, state, per_second, canvas, facts, lanes, bar, memory });
  $("devices").append(card);
  return cards.get(name);
}
function fill_device(name, d, verdict) {
  const c = card_of(name);
  c.title.textContent = `Device ${d.device}`;
  c.what.textContent = d.name ? `${d.backend} · ${d.name}` : d.backend;
  const status = verdict?.status ?? d.state;
  c.state.textContent = status;
  c.state.className = `pill ${colour_of[status] ?? "bad"}`;
  c.per_second.textContent = count(rate(name, "answered"));
  draw(c.canvas, name);
  const facts = [
    ["failed/s", count(rate(name, "failed")), rate(name, "failed") > 0],
    ["failed", count(d.failed)],
    ["in flight", d.mailbox ? `${d.in_flight} of ${count(d.mailbox)}` : count(d.in_flight), d.mailbox > 0 && d.in_flight >= d.mailbox],
    ["run again", count(d.replayed)],
    ["generation", count(d.generation)],
    ["standby", d.standby ? "ready" : "none"],
    ["last failover", d.failover_ns ? time(d.failover_ns) : "none"],
    ["unexplained", count(d.unexplained), d.unexplained > 0],
  ];
  if (d.watts !== undefined) facts.push(["power", `${d.watts} W`]);
  if (d.celsius !== undefined) facts.push(["temperature", `${d.celsius} °C`]);
  if (d.utilization !== undefined) facts.push(["kernels run", `${Math.round(d.utilization * 100)} %`]);
  c.facts.replaceChildren(...facts.map(([what, value, is_bad]) => {
    const one = make("div");
    one.append(make("dt", "", what), make("dd", is_bad ? "bad" : "", value));
    return one;
  }));
  const deepest = Math.max(1, ...d.lanes.map(([, n]) => n));
  c.lanes.replaceChildren(...d.lanes.map(([lane, n, oldest]) => {
    const line = make("li"), depth = make("div", "bar"), part = make("i", "queue");
    part.style.width = `${(100 * n) / deepest}%`;
    depth.append(part);
    line.append(make("span", "quiet", `lane ${lane}`), depth, make("span", "", `${count(n)} requests, ${oldest} first`));
    return line;
  }));
  const parts = [["tainted", d.tainted], ["frozen", d.frozen], ["used", Math.max(0, d.used - d.frozen - d.tainted)]];
  c.bar.replaceChildren(...parts.map(([what, n]) => {
    const one = make("i", what);
    one.style.width = `${d.limit ? Math.min(100, (100 * n) / d.limit) : 0}%`;
    if (n > 0) one.style.minWidth = "2px";
    return one;
  }));
  c.memory.textContent = `memory ${bytes(d.used)} of ${bytes(d.limit)} in ${count(d.buffers)} buffers, peak ${bytes(d.peak)}` +
    (d.frozen ? `, frozen ${bytes(d.frozen)}` : "") + (d.tainted ? `, undefined since a loss ${bytes(d.tainted)}` : "");
}

function fill_operations() {
  const all = [];
  let is_timed = false;
  for (const [name, o] of rows) {
    if (!name.startsWith("operation ")) continue;
    is_timed ||= o.timed > 0;
    all.push({ ...o, ...recent(name), rate: rate(name, "done") });
  }
  const value = (o) => o[sort.by] ?? -1;
  all.sort((a, b) => {
    const order = sort.by === "operation" ? a.operation.localeCompare(b.operation) : value(a) - value(b);
    return (sort.falls ? -order : order) || a.operation.localeCompare(b.operation);
  });
  const longest = Math.max(1, ...all.map((o) => o.mean ?? 0));
  const several = cards.size > 1;
  $("operations").tBodies[0].replaceChildren(...all.map((o) => {
    const line = make("tr");
    const name = make("th");
    const [library, ...rest] = o.operation.split(".");
    name.append(library, ...rest.flatMap((one) => [".", make("wbr"), one]));
    name.scope = "row";
    if (several) name.append(" ", make("span", "quiet", `device ${o.device}`));
    const parts = make("td", "parts"), bar = make("div", "bar");
    for (const [what, ns] of Object.entries(o.parts ?? {})) {
      const one = make("i", what);
      one.style.width = `${(100 * ns) / longest}%`;
      one.title = `${what} ${time(ns)}`;
      bar.append(one);
    }
    parts.append(bar);
    line.append(name, make("td", "", count(o.rate)), make("td", "p50", time(o.p50)), make("td", "", time(o.p99)), parts,
      make("td", o.failed ? "bad" : "", count(o.failed)), make("td", "total", count(o.done)));
    return line;
  }));
  $("untimed").hidden = is_timed || all.length === 0;
  $("legend").hidden = !is_timed;
}

// Queues of a program that serves models; others tell nothing of them.
function fill_models() {
  $("models-section").hidden = served.length === 0;
  if (served.length === 0) return;
  const now = served.at(-1), then = served[0];
  const passed = Math.max(1, now.t - then.t);
  const tenants = new Map();
  $("models").tBodies[0].replaceChildren(...now.models.map((m) => {
    const old = then.models.find((one) => one.name === m.name && one.version === m.version) ?? m;
    const earlier = new Map(old.times);
    const times = m.times.map(([bound, n]) => [bound, n - (earlier.get(bound) ?? 0)]);
    const all = m.timed - old.timed;
    const quantile = (q) => times.find(([, below]) => all > 0 && below >= q * all)?.[0];
    for (const [who, seconds] of Object.entries(m.tenants)) {
      const before = old.tenants[who] ?? 0;
      tenants.set(who, (tenants.get(who) ?? 0) + Math.max(0, seconds - before));
    }
    const line = make("tr"), name = make("th", "", m.name);
    name.scope = "row";
    name.append(" ", make("span", "quiet", `version ${m.version}`));
    const bad = (n) => make("td", n ? "bad" : "", count(n));
    line.append(name, make("td", "", count((m.answered - old.answered) * 1000 / passed)),
      make("td", "", time(quantile(0.5))), make("td", "", time(quantile(0.99))), make("td", "", count(m.waiting)),
      make("td", "", m.batches > old.batches ? count((m.batched - old.batched) / (m.batches - old.batches)) : "–"),
      make("td", "", count(m.refused)), make("td", "", count(m.expired)), bad(m.culprits), bad(m.quarantined));
    return line;
  }));
  const shares = [...tenants].filter(([who, seconds]) => who && seconds > 0);
  const sum = shares.reduce((all, [, seconds]) => all + seconds, 0);
  $("tenants").hidden = shares.length === 0;
  $("tenants").textContent = "device time of the last 10 s: " +
    shares.map(([who, seconds]) => `${who} ${Math.round((100 * seconds) / sum)} %`).join(", ");
}

function fill_actors(mailboxes) {
  $("actors-section").hidden = mailboxes.length === 0;
  $("actors").replaceChildren(...mailboxes.map(([path, messages]) => make("li", "", `${path}: ${count(messages)}`)));
}

function fill_quarantine(devices) {
  const all = devices.flatMap(([, d]) => d.quarantine.map((one) => ({ ...one, device: d.device })));
  $("quarantine-section").hidden = all.length === 0;
  $("quarantine").replaceChildren(...all.map((one) => {
    const line = make("li", "event warning"), text = make("div", "all");
    text.append(make("pre", "", one.request),
      `device ${one.device} refuses it for ${one.seconds} s more: it has ended ${one.faults} workers`);
    line.append(text);
    return line;
  }));
}

const errors = ["gave_up", "condemned", "unexplained"];
const warnings = ["lost", "start_failed", "quarantined", "xid", "tainted"];
const level = (e) => (errors.includes(e.kind) ? "error" : warnings.includes(e.kind) ? "warning" : "info");

function fill_strip() {
  const now = Date.now();
  const place = (at) => `${Math.max(0, 100 * (1 - (now - at * 1000) / shown))}%`;
  const marks = [];
  for (const e of events.values()) {
    if (now - e.at * 1000 > shown) continue;
    const mark = make("i", level(e));
    mark.style.left = place(e.at);
    marks.push(mark);
    if (e.kind === "recovered") {
      const down = make("i", "down");
      down.style.left = place(e.at - e.took);
      down.style.width = `${Math.min(100, (1e5 * e.took) / shown)}%`;
      marks.push(down);
    }
  }
  $("strip").replaceChildren(...marks);
}

function line_of(e) {
  const line = make("li"), all = make("details", `event ${level(e)}`), first = make("summary");
  const at = new Date(e.at * 1000);
  const when = make("time", "", at.toLocaleTimeString());
  when.dateTime = at.toISOString();
  first.append(when, make("span", "", `device ${e.device} ${e.text}`));
  const more = make("div", "all");
  const { request, message, text, code } = e.why ?? {};
  if (e.why) first.append(make("span", "why", [request, message || code].filter(Boolean).join(": ")));
  if (request) more.append(make("span", "quiet", e.kind === "lost" ? "culprit" : "request"), make("pre", "", request));
  if (e.why) more.append(make("span", "quiet", "error"), make("pre", "", text || message));
  const worker = e.pid ? `, worker ${e.pid}` : "";
  more.append(make("span", "quiet", `${e.kind}, event ${e.number}, generation ${e.generation}${worker}, ${at.toISOString()}`));
  if (e.kind === "lost") {
    const trace = make("a", "trace", "trace of the 2 s before, for ui.perfetto.dev");
    trace.href = `/faults/${e.device}-${e.number}.json`;
    trace.download = `loss-${e.device}-${e.number}.json`;
    more.append(trace);
  }
  all.append(first, more);
  line.append(all);
  return line;
}
function hear(e) {
  const key = `${e.device}-${e.number}-${e.at}`;
  if (events.has(key)) return;
  if (events.size === 0) $("events").replaceChildren();
  events.set(key, e);
  $("events").prepend(line_of(e));
  if (events.size > most_events) {
    events.delete(events.keys().next().value);
    $("events").lastChild.remove();
  }
}

function fill() {
  const health = rows.get("health") ?? { ready: false, live: false, devices: [] };
  const devices = [...rows].filter(([name]) => name.startsWith("device "));
  for (const [name] of cards) {
    if (rows.has(name)) continue;
    cards.get(name).card.remove();
    cards.delete(name);
  }
  for (const [name, d] of devices) fill_device(name, d, health.devices.find((one) => one.device === d.device));
  const told = health.devices.filter((one) => one.reason);
  $("reasons").hidden = told.length === 0;
  $("reasons").replaceChildren(...told.map((one) => make("li", "", `device ${one.device} is ${one.status}: ${one.reason}`)));
  const program = rows.get("program");
  if (program) {
    $("program").textContent = `${program.version} · ${program.actors} actors` +
      (program.messages ? ` · ${count(program.messages)} messages wait` : "") +
      (program.dead_letters ? ` · ${count(program.dead_letters)} dead letters` : "");
    fill_actors(program.mailboxes);
  }
  $("status").textContent = health.ready ? "ready" : health.live ? "not ready" : "restart it";
  $("status").className = `pill ${health.ready ? (told.length ? "warn" : "good") : "bad"}`;
  fill_models();
  fill_operations();
  fill_quarantine(devices);
  fill_strip();
}

// An old number never looks new.
function look_at_news() {
  const age = performance.now() - last_news;
  const is_stale = age > 1500;
  document.body.classList.toggle("stale", is_stale);
  if (age > 1e6) $("news").textContent = "";
  else $("news").textContent = is_stale ? `no news for ${(age / 1000).toFixed(1)} s` : "";
  if (is_stale && age < 1e6) {
    $("status").textContent = "unknown";
    $("status").className = "pill";
  }
}

let stream;
function listen() {
  stream = new EventSource("/events");
  stream.addEventListener("rows", (message) => {
    const news = JSON.parse(message.data);
    if (news.all) {
      rows.clear();
      // Of another program, perhaps: its counts have nothing to do with those before.
      history.clear();
    }
    for (const [name, row] of Object.entries(news.rows)) rows.set(name, row);
    last_news = performance.now();
    keep();
    is_dirty = true;
  });
  stream.addEventListener("serving", (message) => {
    const now = performance.now();
    served.push({ t: now, models: JSON.parse(message.data) });
    while (now - served[0].t > 10e3) served.shift();
    is_dirty = true;
  });
  stream.addEventListener("device", (message) => {
    hear(JSON.parse(message.data));
    is_dirty = true;
  });
  stream.addEventListener("error", () => {
    // It tries again by itself, unless the program refused it.
    if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 2000);
  });
}

for (const head of document.querySelectorAll("th[data-sort]")) {
  head.firstChild.addEventListener("click", () => {
    const by = head.dataset.sort;
    sort = { by, falls: sort.by === by ? !sort.falls : by !== "operation" };
    for (const one of document.querySelectorAll("th[data-sort]")) one.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", sort.falls ? "descending" : "ascending");
    is_dirty = true;
  });
}
setInterval(() => {
  look_at_news();
  if (!is_dirty || document.hidden) return;
  is_dirty = false;
  fill();
}, 250);
listen();
