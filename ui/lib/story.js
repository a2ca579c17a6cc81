// The story of a request in four steps, from a Request of the journal (requests.trace.virtgate.io).
import { span } from './format.js';

export const requestText = spec => [spec.verb, [spec.resource, spec.subresource].filter(Boolean).join('/'), spec.name].filter(Boolean).join(' ');

const SHORT = { virtualmachines: 'VM', virtualmachineinstances: 'VMI', virtualmachineinstancemigrations: 'migration', persistentvolumeclaims: 'claim', datavolumes: 'data volume', virtualmachinesnapshots: 'snapshot', virtualmachinerestores: 'restore' };

/** The same for a list: "stop VM demo", "create VM demo", "open vnc of VMI demo". */
export function requestWords(spec) {
  const what = [SHORT[spec.resource] ?? spec.resource, spec.name].filter(Boolean).join(' ');
  if (!spec.subresource) return `${spec.verb} ${what}`;
  return spec.verb === 'get' ? `open ${spec.subresource} of ${what}` : `${spec.subresource} ${what}`;
}

/** What the server tells as a part of a sentence, as one. */
export const sentence = text => !text ? '' : `${text[0].toUpperCase()}${text.slice(1)}${/[.!?:]$/.test(text) ? '' : '.'}`;

/** What to do next, or '' when that is nothing. */
export const nextStep = told => !told?.next || /^nothing\b/.test(told.next) ? '' : told.next;

export const codeTone = code => code < 300 ? 'good' : code === 409 || code === 429 ? 'warn' : code >= 400 ? 'bad' : 'quiet';

/** [{title, lines: [text], tone}], four of them. */
export function fourSteps(request) {
  const spec = request.spec ?? {}, status = request.status ?? {};
  const times = Object.entries(status.timesMilliseconds ?? {}).map(([name, ms]) => `${name === 'lookUps' ? 'look-ups' : name} ${ms} ms`);
  return [
    { title: 'What was asked for', tone: 'quiet', lines: [
      `${requestText(spec)}${request.metadata?.namespace ? ` in namespace ${request.metadata.namespace}` : ''}${spec.dryRun ? ' (dry run)' : ''}`,
      spec.user ? `by ${spec.user}${spec.impersonatedBy ? `, impersonated by ${spec.impersonatedBy}` : ''}${spec.credential ? ` with a ${spec.credential}` : ''}` : '',
      spec.client ? `client ${spec.client}` : ''] },
    { title: 'Was it let in', tone: codeTone(status.code ?? 0), lines: [
      `answer ${status.code ?? ''} ${status.reason ?? ''}`.trim(), status.message ?? '',
      status.allowedBy ? `allowed by ${status.allowedBy}` : '', status.forbiddenBecause ? `forbidden: ${status.forbiddenBecause}` : '',
      ...(status.rules ?? []).map(rule => `rule ${rule.id}${rule.field ? ` at ${rule.field}` : ''}`), status.decidedBy ? `decided by ${status.decidedBy}` : ''] },
    { title: 'What it touched', tone: 'quiet', lines: [
      ...(status.objects ?? []).map(one => `${one.action} ${one.object}`), ...(status.changes ?? []).map(one => `${one.field}${one.value ? ` = ${one.value}` : ''}`),
      ...(status.seen ?? []).map(one => `saw ${one.object}${one.state ? `: ${one.state}` : ''}${one.ageMilliseconds > 1000 ? ` (${span(one.ageMilliseconds / 1000)} old)` : ''}`),
      status.milliseconds !== undefined ? `took ${status.milliseconds} ms${times.length ? ` (${times.join(', ')})` : ''}` : ''] },
    { title: 'What became of it', tone: codeTone(status.code ?? 0), lines: [status.verdict ?? '', status.next ? `Next: ${status.next}` : ''] },
  ].map(step => ({ ...step, lines: step.lines.filter(Boolean) }));
}

/** A VM or VMI that a request was about: {kind, namespace, name}, or null. */
export function subjectOf(request) {
  const spec = request.spec ?? {};
  return /^virtualmachine(instance)?s$/.test(spec.resource ?? '') && spec.name ? { resource: spec.resource, namespace: request.metadata?.namespace ?? 'default', name: spec.name } : null;
}
