// A real Chromium, told what to do by lines of JSON on standard input; each is answered by one on standard output.
// Everything waits by itself for what it needs, and gives up with the reason.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [modules, program] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { chromium } = require("playwright-core");
const WITHIN = 60_000;

const browser = await chromium.launch({
  executablePath: program,
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--ignore-certificate-errors", "--host-resolver-rules=MAP gate.example.org 127.0.0.1"],
});
const pages = new Map();

const DO = {
  async open({ page, url, width = 1280, height = 800, locale = "en-US", dark = false }) {
    // A narrow screen is a phone's: touched, and without a pointer that hovers.
    const phone = width < 500;
    const context = await browser.newContext({ viewport: { width, height }, locale, colorScheme: dark ? "dark" : "light", hasTouch: phone, isMobile: phone });
    await context.addInitScript("addEventListener('click', (event) => (window.lastClick = event), true)");
    const opened = await context.newPage();
    opened.setDefaultTimeout(WITHIN);
    opened.problems = [];
    opened.requests = [];
    opened.on("pageerror", (error) => opened.problems.push(error.message));
    // What the gate refused is told by the page; what the browser refused, such as a script, is a problem.
    const isProblem = (message) => message.type() === "error" && !message.text().startsWith("Failed to load resource");
    opened.on("console", (message) => isProblem(message) && opened.problems.push(message.text()));
    opened.on("request", (request) => opened.requests.push(request.url()));
    opened.on("dialog", (dialog) => dialog.accept());
    pages.set(page, opened);
    await opened.goto(url);
  },
  still: ({ page }) => of(page).emulateMedia({ reducedMotion: "reduce" }),
  goto: ({ page, url }) => of(page).goto(url),
  reload: ({ page }) => of(page).reload(),
  // A card that has just moved takes no press and says so: a person looks, and presses again.
  async click({ page, at }) {
    do await of(page).locator(at).first().click();
    while (await of(page).evaluate(WAS_TURNED_AWAY).catch(() => false));
  },
  fill: ({ page, at, text }) => of(page).locator(at).first().fill(text),
  press: ({ page, keys }) => of(page).keyboard.press(keys),
  select: ({ page, at, value }) => of(page).locator(at).first().selectOption(value),
  see: ({ page, at }) => of(page).locator(at).first().waitFor({ state: "visible" }),
  gone: ({ page, at }) => of(page).locator(at).first().waitFor({ state: "hidden" }),
  text: ({ page, at }) => of(page).locator(at).first().innerText(),
  count: ({ page, at }) => of(page).locator(at).count(),
  run: ({ page, script }) => of(page).evaluate(script),
  shot: ({ page, path, whole }) => of(page).screenshot({ path, fullPage: whole }).then(() => undefined),
  problems: ({ page }) => of(page).problems,
  requests: ({ page }) => of(page).requests,
  async accessible({ page }) {
    const source = require("node:fs").readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
    // Through the debugger: the page's own policy lets no foreign script in.
    await of(page).evaluate(source);
    const { violations } = await of(page).evaluate(`axe.run(document, { resultTypes: ["violations"] })`);
    return violations.filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" | ")}`);
  },
  grant: ({ page, permission }) => of(page).context().grantPermissions([permission]),
  // A push as the browser's own push service would deliver it.
  async push({ page, data }) {
    // A worker that is not active yet is not given it.
    await of(page).evaluate("navigator.serviceWorker.ready.then(() => true)");
    await (await worker(page)).evaluate(KEEP_SHOWN);
    const tools = await of(page).context().newCDPSession(of(page));
    const registered = new Promise((resolve) => tools.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => registrations[0] && resolve(registrations[0])));
    await tools.send("ServiceWorker.enable");
    const { registrationId } = await registered;
    await tools.send("ServiceWorker.deliverPushMessage", { origin: new URL(of(page).url()).origin, registrationId, data });
    await tools.detach();
  },
  // Someone presses a button of the notification with this number, or with no action the notification itself.
  async tap({ page, number, action }) {
    await (await worker(page)).evaluate(`(async () => {
      const notification = { data: self.kept[${Number(number)}], close() {} };
      let done;
      self.dispatchEvent(Object.assign(new Event("notificationclick"), { action: ${JSON.stringify(action)}, notification, waitUntil: (work) => (done = work) }));
      await done;
    })()`);
  },
  notifications: async ({ page }) => (await worker(page)).evaluate("self.shown"),
  async downloaded({ page, at }) {
    const [download] = await Promise.all([of(page).waitForEvent("download"), of(page).locator(at).first().click()]);
    return require("node:fs").readFileSync(await download.path(), "utf8");
  },
  // What the page has taken, in bytes, after everything that nobody needs is gone: its script's heap, and what its process
  // shares with no other; and the elements and texts in the document.
  async memory({ page }) {
    const tools = await of(page).context().newCDPSession(of(page));
    await tools.send("HeapProfiler.collectGarbage");
    await tools.send("Performance.enable");
    const { metrics } = await tools.send("Performance.getMetrics");
    const { usedSize: heap } = await tools.send("Runtime.getHeapUsage");
    await tools.detach();
    const whole = await browser.newBrowserCDPSession();
    const { processInfo } = await whole.send("SystemInfo.getProcessInfo");
    await whole.detach();
    const own = processInfo.filter(({ type }) => type === "renderer").map(({ id }) => privateBytes(id));
    return { heap, nodes: metrics.find(({ name }) => name === "Nodes").value, process: Math.max(...own) };
  },
  // What the page's main thread does from here on is written down, until `traced` says how long its longest task was, in
  // milliseconds: by the clock, and by what of it the processor gave to that thread.
  trace: ({ page }) => browser.startTracing(of(page), { categories: ["-*", "toplevel", "disabled-by-default-devtools.timeline"] }),
  async traced() {
    const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
    const place = ({ pid, tid }) => `${pid} ${tid}`;
    const main = new Set(traceEvents.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(place));
    const tasks = traceEvents.filter((event) => event.ph === "X" && event.name.endsWith("RunTask") && main.has(place(event)));
    const longest = (times) => times.reduce((most, time) => Math.max(most, time), 0) / 1000;
    return { tasks: tasks.length, longest: longest(tasks.map(({ dur }) => dur)), processor: longest(tasks.map(({ tdur }) => tdur ?? 0)) };
  },
  attach: ({ page, at, path }) => of(page).locator(at).setInputFiles(path),
  close: async ({ page }) => {
    await of(page).context().close();
    pages.delete(page);
  },
};

const WAS_TURNED_AWAY = `Boolean(window.lastClick?.defaultPrevented && window.lastClick.target.closest?.(".prompt button[data-action]"))`;

// `getNotifications` is not asked: Chromium forgets by it what it is just about to show. What the browser took counts.
const KEEP_SHOWN = `if (!self.shown) {
  self.shown = [];
  self.kept = [];
  const show = self.registration.showNotification.bind(self.registration);
  self.registration.showNotification = async (title, options = {}) => {
    await show(title, options);
    self.kept.push(options.data);
    self.shown.push([title, options.body, (options.actions ?? []).map(({ action }) => action).join()].join(" | "));
  };
}`;

/** Of the process with this id; none where there is no /proc. */
function privateBytes(id) {
  try {
    const text = require("node:fs").readFileSync(`/proc/${id}/smaps_rollup`, "utf8");
    return 1024 * [...text.matchAll(/^Private_\w+: +(\d+) kB/gm)].reduce((sum, [, kilobytes]) => sum + Number(kilobytes), 0);
  } catch {
    return 0;
  }
}

async function worker(page) {
  const context = of(page).context();
  return context.serviceWorkers()[0] ?? context.waitForEvent("serviceworker");
}

function of(page) {
  const found = pages.get(page);
  if (!found) throw new Error(`no page ${page}`);
  return found;
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const { what, ...rest } = JSON.parse(line);
    answer = { ok: (await DO[what](rest)) ?? null };
  } catch (error) {
    // What was on the screen instead says more than what was not.
    const page = pages.get(JSON.parse(line).page);
    const shown = await page?.locator("body").innerText({ timeout: 1000 }).catch(() => "");
    answer = { failed: `${error.message}\nthe page shows:\n${shown ?? ""}\n${page?.problems.join("\n") ?? ""}` };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
