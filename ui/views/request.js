// One request as a story in four steps.
import { get, resourcePath } from '../client/client.js';
import { clock } from '../lib/format.js';
import { vmLink } from '../lib/route.js';
import { codeTone, fourSteps, requestText, subjectOf } from '../lib/story.js';
import { fill, h } from '../parts/dom.js';
import { icon } from '../parts/icons.js';
import { notice, statusMark } from '../parts/status.js';

export function requestView(route) {
  const { namespace, id } = route.params, body = h('div', { class: 'stack' }, h('p', { class: 'muted' }, 'Loading…')), end = new AbortController();
  const head = h('div', { class: 'page-head' }, h('a', { class: 'back', href: '#/requests', 'aria-label': 'Back to the requests' }, icon('back')), h('h1', {}, `Request ${id}`));

  async function load() {
    try {
      const request = await get(resourcePath('requests', namespace, id), { signal: end.signal }), subject = subjectOf(request);
      fill(body, h('p', { class: 'verdict' }, statusMark(`${request.status?.code ?? ''} ${request.status?.reason ?? ''}`.trim(), codeTone(request.status?.code ?? 0)), ' ', requestText(request.spec ?? {}), h('span', { class: 'muted' }, `, ${clock(request.metadata.creationTimestamp, Date.now())}`)),
        subject ? h('p', { class: 'line' }, h('a', { class: 'button', href: vmLink(subject.namespace, subject.name) }, `Open VM ${subject.name}`), h('a', { class: 'button', href: vmLink(subject.namespace, subject.name, 'requests') }, 'All requests for it')) : null,
        h('ol', { class: 'story' }, fourSteps(request).map((step, at) => h('li', { class: 'card', 'data-tone': step.tone }, h('h2', {}, `${at + 1}. ${step.title}`), step.lines.length ? step.lines.map(line => h('p', {}, line)) : h('p', { class: 'muted' }, 'Nothing.')))),
        h('p', { class: 'muted' }, 'The same in a terminal: ', h('code', {}, `virtgate explain ${id}`)));
    } catch (error) {
      if (!end.signal.aborted) fill(body, notice('bad', 'This request cannot be read.', h('p', {}, error.message), h('p', {}, 'The journal keeps a limited number of requests; older ones are gone.')));
    }
  }
  load();
  return { element: h('section', { class: 'page' }, head, body), title: `Request ${id}`, end: () => end.abort() };
}
