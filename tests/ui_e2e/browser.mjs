// Chromium for the tests of the page, and what they all need. Driven by playwright-core (tools/ui_vendor.py --tests); a test is a script that
// ends with an error when something does not hold. Environment: UI_BASE, UI_TOKEN or UI_CODE, UI_VENDOR, UI_CHROMIUM, UI_SHOTS.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import path from 'node:path';

const { UI_BASE, UI_TOKEN, UI_VENDOR, UI_CHROMIUM = '/usr/bin/chromium', UI_SHOTS } = process.env;
export const { chromium } = createRequire(path.join(UI_VENDOR, 'x.js'))(path.join(UI_VENDOR, 'playwright-core'));
export const base = UI_BASE;
export const DEADLINE_MS = Number(process.env.UI_DEADLINE_MS ?? 120_000);
const AXE = path.join(UI_VENDOR, 'axe-core/axe.min.js');

export const launch = (...more) => chromium.launch({ executablePath: UI_CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage', ...more] });

// What Chromium says in its console that is no fault of the page: refused answers that a test provokes, and streams that end.
const EXPECTED = [/status of (401|403|404|409|422|400|500|503)/, /WebSocket connection to .* failed/, /WebSocket on-error event/, /Failed when connecting/, /Connection (closed|reset)/, /Disconnect(ed|ion)/, /net::ERR_/];

/** A page whose errors and violations of the content security policy are collected in `faults`. */
export async function newPage(browser, options = {}) {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1360, height: 860 }, ...options });
  await context.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', event => window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`));
  });
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  page.faults = [];
  page.on('pageerror', error => page.faults.push(`${error.message} ${error.stack}`));
  page.on('console', message => { if (message.type() === 'error' && !EXPECTED.some(one => one.test(message.text()))) page.faults.push(message.text()); });
  return page;
}

export async function noFaults(page) {
  assert.deepEqual(await page.evaluate(() => window.violations), [], 'the content security policy was violated');
  assert.deepEqual(page.faults, []);
}

export async function signIn(page, hash = '#/vms', token = UI_TOKEN, at = base) {
  await page.goto(`${at}${hash}`);
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
}

export async function go(page, hash) {
  await page.evaluate(wanted => { location.hash = wanted; }, hash);
}

export async function shot(page, name) {
  if (!UI_SHOTS) return;
  mkdirSync(UI_SHOTS, { recursive: true });
  await page.screenshot({ path: path.join(UI_SHOTS, `${name}.png`) });
}

/** Waits until `holds` gives something that is true; polls, since what is awaited is outside of the page. */
export async function until(what, holds, deadlineMs = DEADLINE_MS) {
  for (const end = Date.now() + deadlineMs; ;) {
    const found = await holds();
    if (found) return found;
    assert.ok(Date.now() < end, `not in time: ${what}`);
    await new Promise(done => setTimeout(done, 100));
  }
}

/** axe in a world of its own, which the page's policy does not bind. It lasts until the document is another one. */
async function axeIn(page) {
  const session = page.axe?.session ?? await page.context().newCDPSession(page), { frameTree } = await session.send('Page.getFrameTree');
  if (page.axe?.loader === frameTree.frame.loaderId) return page.axe;
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id, worldName: 'axe' });
  await session.send('Runtime.evaluate', { contextId: executionContextId, expression: readFileSync(AXE, 'utf8') });
  page.axe = { session, world: executionContextId, loader: frameTree.frame.loaderId };
  return page.axe;
}

/** Serious and critical findings of axe; of some rules only, where the others were asked of the same document already. */
export async function accessibility(page, name, runOnly) {
  const { session, world } = await axeIn(page);
  const { result, exceptionDetails } = await session.send('Runtime.evaluate', { contextId: world, awaitPromise: true, returnByValue: true,
    expression: `axe.run(document, {resultTypes: ['violations'], preload: false${runOnly ? `, runOnly: ${JSON.stringify(runOnly)}` : ''}}).then(found => found.violations.map(one => ({id: one.id, impact: one.impact, help: one.help, nodes: one.nodes.slice(0, 4).map(node => node.html.slice(0, 200) + ' ' + (node.any[0]?.message ?? node.all[0]?.message ?? ''))})))` });
  assert.ok(!exceptionDetails, JSON.stringify(exceptionDetails));
  const grave = result.value.filter(one => one.impact === 'serious' || one.impact === 'critical');
  note(`axe ${name}: ${result.value.length} findings, ${grave.length} serious ${result.value.filter(one => !grave.includes(one)).map(one => one.id).join(' ')}`);
  return grave.map(one => ({ page: name, ...one }));
}

/** A relay to the server whose connections can be cut: {base, cut(), mend(), close()}. While it is cut it refuses new ones. */
export async function relay() {
  const target = new URL(base), open = new Set();
  let isCut = false;
  const server = net.createServer(socket => {
    if (isCut) { socket.destroy(); return; }
    const other = net.connect(Number(target.port), target.hostname);
    for (const one of [socket, other]) { open.add(one); one.on('error', () => {}); one.on('close', () => { open.delete(one); socket.destroy(); other.destroy(); }); }
    socket.pipe(other).pipe(socket);
  });
  await new Promise(done => server.listen(0, '127.0.0.1', done));
  return { base: `https://127.0.0.1:${server.address().port}${target.pathname}`, cut() { isCut = true; open.forEach(one => one.destroy()); }, mend() { isCut = false; }, close() { server.close(); open.forEach(one => one.destroy()); } };
}

const began = performance.now();
/** What was shown so far, and when: where the seconds of a test go. */
export const note = text => console.log(`${((performance.now() - began) / 1000).toFixed(1).padStart(6)} s  ${text}`);

/** Runs a test and ends the browser, whatever happens. A picture of the last page tells what was wrong. */
export async function run(test, ...more) {
  const browser = await launch(...more);
  let code = 0;
  try {
    await test(browser);
    note('done');
  } catch (error) {
    code = 1;
    console.error(error.stack ?? error);
    for (const context of browser.contexts()) for (const page of context.pages()) {
      console.error('at', page.url(), 'faults', page.faults);
      if (UI_SHOTS) await page.screenshot({ path: path.join(UI_SHOTS, 'failed.png') }).catch(() => {});
      console.error((await page.locator('body').innerText().catch(() => '')).slice(0, 3000));
    }
  }
  await browser.close();
  process.exit(code);
}
