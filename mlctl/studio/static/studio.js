// What the pages need beside htmx: the stream of changes, forms that act, and charts.
"use strict"
const base = document.documentElement.dataset.base
const message = document.querySelector("#message")
const live = document.querySelector("#live")
let quiet, stream

const say = (text, bad) => {
  message.classList.toggle("bad", Boolean(bad))
  message.textContent = text
  clearTimeout(quiet)
  quiet = setTimeout(() => { message.textContent = "" }, bad ? 12000 : 4000)
}

const changed = () => htmx.trigger(document.body, "studio")

const listen = () => {
  stream = new EventSource(base + "events")
  stream.addEventListener("change", (event) => {
    const { says } = JSON.parse(event.data)
    if (says && says !== live.textContent) live.textContent = says
    document.body.dataset.revision = JSON.parse(event.data).revision
    changed()
    for (const place of document.querySelectorAll("[data-url]")) place.chart?.draw()
  })
  stream.onerror = () => say("The studio is not responding. Is `mlctl studio` still running?", true)
}

// A page that nobody looks at asks for nothing.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) stream.close()
  else listen()
})

document.addEventListener("submit", async (event) => {
  const form = event.target
  if (form.method !== "post") return
  event.preventDefault()
  const body = new URLSearchParams(new FormData(form, event.submitter))
  try {
    const answer = await fetch(form.action, { method: "POST", body })
    say(await answer.text(), !answer.ok)
    changed()
  } catch {
    say("The studio is not responding. Is `mlctl studio` still running?", true)
  }
})

// Charts: a figure with `data-url`; stacked where `data-kind` is "stack".
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()
const moment = (seconds) => {
  const days = Math.floor(seconds / 86400), rest = Math.floor(seconds % 86400)
  const two = (number) => String(number).padStart(2, "0")
  return (days ? `${days}d ` : "") + `${two(Math.floor(rest / 3600))}:${two(Math.floor(rest / 60) % 60)}`
}

class Chart {
  constructor(place) {
    this.place = place
    this.stacked = place.dataset.kind === "stack"
    this.at = 0
    addEventListener("resize", () => { this.plot?.setSize(this.size()) })
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.again())
    this.draw()
  }

  size() { return { width: Math.max(this.place.clientWidth, 200), height: 230 } }

  async draw() {
    if (this.busy || Date.now() - this.at < 900) return
    this.busy = true
    try {
      const answer = await fetch(this.place.dataset.url)
      if (answer.ok) this.show(await answer.json())
    } catch { /* the stream says that the server is gone */ } finally {
      this.busy = false
      this.at = Date.now()
    }
  }

  // Rows from the first to the last on top of each other; the highest is drawn first.
  show({ names, data }) {
    this.shown = { names, data }
    const [times, ...rows] = data
    const sums = rows.map(() => [])
    for (let at = 0; at < times.length; at++) {
      let sum = 0
      rows.forEach((row, number) => { sums[number][at] = sum += row[at] })
    }
    const order = names.map((_, number) => number)
    if (this.stacked) order.reverse()
    const values = [times, ...order.map((number) => (this.stacked ? sums : rows)[number])]
    const now = names.map((name, number) => [name, rows[number].at(-1)]).filter(([, last]) => last)
    this.label ??= this.place.getAttribute("aria-label")
    this.place.setAttribute("aria-label",
      `${this.label}. Now: ${now.map(([name, last]) => `${name} ${last}`).join(", ") || "nothing"}`)
    if (this.plot) return this.plot.setData(values)
    const whole = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000]
    const times_s = [60, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800]
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false } }
    this.plot = new uPlot({
      ...this.size(),
      scales: { x: { time: false }, y: { range: (_, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      cursor: { points: { show: false } },
      axes: [{ ...axis, values: (_, splits) => splits.map(moment), space: 70, incrs: times_s }, { ...axis, size: 55, ...(this.stacked && { incrs: whole }) }],
      series: [
        { label: "time", value: (plot, at) => moment(at ?? plot.data[0].at(-1) ?? 0) },
        ...order.map((number) => ({
          label: names[number],
          stroke: this.stacked ? "transparent" : colour("--mark"),
          width: this.stacked ? 0 : 2,
          fill: this.stacked ? colour("--" + names[number]) : undefined,
          paths: uPlot.paths.stepped({ align: 1 }),
          points: { show: false },
          value: (_, __, ___, at) => rowAt(this.shown.data[number + 1], at ?? -1),
        })),
      ],
    }, values, this.place)
  }

  again() {
    this.plot?.destroy()
    this.plot = undefined
    if (this.shown) this.show(this.shown)
  }
}

const rowAt = (row, at) => String(Math.round((row.at(at) ?? 0) * 100) / 100)
const begin = () => {
  for (const place of document.querySelectorAll("[data-url]")) place.chart ??= new Chart(place)
}
document.body.addEventListener("htmx:afterSettle", begin)
begin()
listen()
