// Another origin can neither read nor act, though the browser holds a session: a page of another site asks in every way that a browser has.
import assert from 'node:assert/strict';
import http from 'node:http';
import { base, newPage, run, signIn } from './browser.mjs';

const TARGET = new URL(base).origin, VMS = '/apis/kubevirt.io/v1/namespaces/default/virtualmachines';

const names = async path => (await (await fetch(path, { headers: { 'X-Virtgate-UI': '1' } })).json()).items.map(one => one.metadata.name);

await run(async browser => {
  const site = http.createServer((_, response) => response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>elsewhere</title><form method="post"></form>'));
  await new Promise(done => site.listen(0, '127.0.0.1', done));
  // The same host at another port is another origin, but the same site: the cookie is sent along, which is the harder case.
  for (const origin of [`http://127.0.0.1:${site.address().port}`, `http://localhost:${site.address().port}`]) {
    const page = await newPage(browser);
    await signIn(page);
    const before = await page.evaluate(names, VMS);
    const mine = await page.evaluate(async path => (await fetch(path, { headers: { 'X-Virtgate-UI': '1' } })).status, VMS);
    assert.equal(mine, 200, 'the session itself works');
    const elsewhere = await page.context().newPage();
    await elsewhere.goto(origin);
    const found = await elsewhere.evaluate(async ([target, path]) => {
      const attempt = async work => { try { return await work(); } catch (error) { return `refused: ${error.name}`; } };
      const read = more => attempt(async () => { const answer = await fetch(target + path, { credentials: 'include', ...more }); return `${answer.type} ${answer.status} ${(await answer.text()).length}`; });
      const stream = () => new Promise(done => { const socket = new WebSocket(`${target.replace('https', 'wss')}/apis/subresources.kubevirt.io/v1/namespaces/default/virtualmachineinstances/demo/console`, ['plain.kubevirt.io']); socket.onopen = () => done('open'); socket.onclose = () => done('closed'); });
      return { plain: await read({}), header: await read({ headers: { 'X-Virtgate-UI': '1' } }), blind: await read({ mode: 'no-cors' }), remove: await read({ method: 'DELETE', headers: { 'X-Virtgate-UI': '1' } }), post: await read({ method: 'POST', mode: 'no-cors', headers: { 'Content-Type': 'text/plain' }, body: '{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"name":"forged"},"spec":{"runStrategy":"Halted","template":{"spec":{"domain":{}}}}}' }),
        session: await attempt(async () => (await fetch(`${target}/ui/session`, { credentials: 'include' })).status), stream: await stream() };
    }, [TARGET, VMS]);
    console.log(origin, JSON.stringify(found));
    for (const key of ['plain', 'header', 'remove', 'session']) assert.match(String(found[key]), /^refused/, key);
    assert.match(found.blind, /^opaque 0 0$|^refused/);
    assert.match(found.post, /^opaque 0 0$|^refused/);
    assert.equal(found.stream, 'closed');
    // A form, which needs no permission to be sent.
    const [answer] = await Promise.all([elsewhere.waitForNavigation(), elsewhere.evaluate(([target, path]) => { const form = document.forms[0]; form.action = target + path; form.submit(); }, [TARGET, VMS])]);
    assert.equal(answer.status(), 401);
    // In a frame the page does not show.
    await elsewhere.goto(origin);
    const framed = await elsewhere.evaluate(target => new Promise(done => { const frame = document.createElement('iframe'); frame.onload = () => { try { done(frame.contentDocument ? 'readable' : 'opaque'); } catch { done('opaque'); } }; frame.src = `${target}/ui/`; document.body.append(frame); setTimeout(() => done('nothing'), 5000); }), TARGET);
    assert.notEqual(framed, 'readable');
    assert.ok(!elsewhere.frames().some(one => one.url().startsWith(`${TARGET}/ui`) && one !== elsewhere.mainFrame()), 'it is not framed');
    assert.deepEqual(await page.evaluate(names, VMS), before, 'nothing was deleted, nothing was made');
    await page.context().close();
  }
  site.close();
});
