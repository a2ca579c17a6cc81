import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actionOf, actions, checkOf, requestOf } from '../../ui/lib/actions.js';
import { waitMs } from '../../ui/lib/backoff.js';
import { claimUsers, imagesInUse, nodeRows } from '../../ui/lib/capacity.js';
import { diffLines, withContext } from '../../ui/lib/diff.js';
import { imageRows } from '../../ui/lib/images.js';
import { LineSplitter } from '../../ui/lib/lines.js';
import { conditionsOf, disksOf, networksOf, timeline } from '../../ui/lib/machine.js';
import { grouped, planWords } from '../../ui/lib/plan.js';
import { ceiling, memoryUsed, pointOf, recent } from '../../ui/lib/rates.js';
import { parseRoute, routeTo, vmLink } from '../../ui/lib/route.js';
import { joined, toneOf, vmiRow, vmRow } from '../../ui/lib/rows.js';
import { fieldAt, schemaOfKind } from '../../ui/lib/schema.js';
import { fourSteps, nextStep, requestWords, sentence, subjectOf } from '../../ui/lib/story.js';
import { afterClose, afterRefusal } from '../../ui/parts/stream.js';

test('a difference by lines', () => {
  const told = (a, b) => diffLines(a, b).map(line => ({ same: ' ', added: '+', removed: '-' })[line.kind] + line.text);
  assert.deepEqual(told('a\nb\nc', 'a\nx\nc'), [' a', '-b', '+x', ' c']);
  assert.deepEqual(told('a', 'a'), [' a']);
  assert.deepEqual(told('', 'x'), ['-', '+x']);
  assert.deepEqual(told('a\nb', 'b\nc'), ['-a', ' b', '+c']);
  const lines = diffLines(Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n'), Array.from({ length: 30 }, (_, at) => at === 15 ? 'new' : `line ${at}`).join('\n'));
  assert.deepEqual(withContext(lines, 1).map(line => line.kind), ['gap', 'same', 'removed', 'added', 'same', 'gap']);
  assert.deepEqual(withContext(diffLines('a', 'a')), []);
});

test('lines come whole, however the stream is cut', () => {
  const splitter = new LineSplitter();
  assert.deepEqual([...splitter.push('{"a"'), ...splitter.push(':1}\n{"b":2}\n\n{"c'), ...splitter.push('":3}\n')], ['{"a":1}', '{"b":2}', '{"c":3}']);
});

test('back-off grows and is bounded', () => {
  assert.equal(waitMs(0, 1), 500);
  assert.equal(waitMs(3, 1), 4000);
  assert.equal(waitMs(1000, 1), 30_000);
  assert.equal(waitMs(1000, 0), 15_000);
});

test('rates come from two samples', () => {
  const at = (time, cpu, bytes) => ({ time, cpu: { timeNanoseconds: cpu }, memory: { availableBytes: 100, unusedBytes: 40 }, disks: [{ readBytes: bytes, writeBytes: 0 }, { readBytes: bytes, writeBytes: 0 }], networks: [] });
  const point = pointOf(at('2026-01-01T00:00:00.000Z', 0, 0), at('2026-01-01T00:00:02.000Z', 1e9, 1000));
  assert.deepEqual([point.cpu, point.memory, point.diskRead, point.diskWrite, point.netIn], [0.5, 60, 1000, 0, 0]);
  assert.equal(pointOf(at('2026-01-01T00:00:02Z', 0, 0), at('2026-01-01T00:00:02Z', 1, 0)), null, 'no time between');
  assert.equal(pointOf(at('2026-01-01T00:00:00Z', 5, 0), at('2026-01-01T00:00:02Z', 1, 0)), null, 'the guest restarted');
  assert.equal(memoryUsed({ rssBytes: 7 }), 7);
  assert.deepEqual(recent([{ time: 0 }, { time: 5000 }, { time: 9000 }], 10_000, 6, 1), [{ time: 9000 }]);
  for (const [values, least, base, end] of [[[3], 1, 10, 5], [[], 1, 10, 1], [[NaN, 120], 1, 10, 200], [[1500], 1024, 2, 2048], [[1024], 1024, 2, 1024]]) assert.equal(ceiling(values, least, base), end, String(values));
});

test('what a dry run tells', () => {
  assert.deepEqual(planWords([{ object: 'kubevirt.io/v1/namespaces/default/vms/a', patch: [{ op: 'test', path: '/spec/runStrategy', value: 'Always' }, { op: 'replace', path: '/spec/runStrategy', value: 'Halted' }] }, { call: 'PUT', path: '/v1/x/pause' }, { object: 'm', create: { kind: 'VirtualMachineInstanceMigration', metadata: { generateName: 'mig-' } } }]),
    ['Change vms/a: set spec.runStrategy to Halted', 'Call the node: PUT pause', 'Create VirtualMachineInstanceMigration mig-']);
  assert.deepEqual(planWords(undefined), []);
  const groups = grouped([{ name: 'a', ok: true, text: 'Change vms/a: x' }, { name: 'b', ok: true, text: 'Change vms/b: x' }, { name: 'c', ok: false, text: 'vm "c" not found' }]);
  assert.deepEqual(groups.map(group => [group.ok, group.names, group.outcome]), [[false, ['c'], 'vm "c" not found'], [true, ['a', 'b'], 'Change vms: x']]);
});

test('addresses of the page', () => {
  assert.deepEqual(parseRoute('#/vms/default/demo/yaml'), { view: 'vm', params: { namespace: 'default', name: 'demo', tab: 'yaml' }, query: {}, section: 'vms' });
  assert.equal(parseRoute('').view, 'vms');
  assert.equal(parseRoute('#/login/abc').params.code, 'abc');
  assert.deepEqual(parseRoute('#/vms?status=Running').query, { status: 'Running' });
  for (const bad of ['#/nothing', '#/vms/a', '#/vms/a/b/c/d', '#/%E0%A4%A', '#/vms/default/..', '#/vms/%2e%2e/demo']) assert.equal(parseRoute(bad), null, bad);
  assert.equal(vmLink('a/b', '<x>'), '#/vms/a%2Fb/%3Cx%3E');
  assert.deepEqual(parseRoute(vmLink('a/b', '<x>')).params, { namespace: 'a/b', name: '<x>' });
  assert.equal(routeTo(['vms'], { search: 'a b', node: '' }), '#/vms?search=a+b');
});

const vm = { metadata: { name: 'demo', namespace: 'default', uid: 'u', resourceVersion: '5', labels: { app: 'web' } }, spec: { runStrategy: 'Always', template: { spec: { domain: { cpu: { cores: 2, sockets: 2 }, memory: { guest: '1Gi' } }, volumes: [{ dataVolume: { name: 'disk' } }] } } }, status: { printableStatus: 'Running', conditions: [{ type: 'Failure', status: 'True', message: 'why' }] } };
const vmi = { metadata: { name: 'demo', namespace: 'default', ownerReferences: [{ kind: 'VirtualMachine', controller: true }] }, spec: { domain: {}, volumes: [{ containerDisk: { image: 'i:1' } }] }, status: { phase: 'Running', nodeName: 'node01', interfaces: [{ ipAddress: '10.0.0.1' }], conditions: [{ type: 'Paused', status: 'True' }] } };

test('rows of the list', () => {
  const row = joined('default/demo', vmRow(vm), vmiRow(vmi));
  assert.deepEqual([row.key, row.status, row.node, row.address, row.vcpus, row.problem, row.alone, row.claims], ['default/demo', 'Running', 'node01', '10.0.0.1', 1, 'why', false, ['disk']]);
  assert.equal(vmRow(vm).vcpus, 4);
  assert.equal(joined('k', undefined, vmiRow(vmi)).status, 'Paused');
  assert.equal(vmRow({ metadata: { name: 'x' } }).status, 'Unknown');
  assert.deepEqual(['Running', 'Stopped', 'CrashLoopBackOff', 'Migrating', 'ErrSomething', 'New'].map(toneOf), ['good', 'quiet', 'bad', 'busy', 'bad', 'busy']);
});

test('actions ask for what they do', () => {
  const row = joined('default/demo', vmRow(vm), vmiRow(vmi)), paths = { resourcePath: (...parts) => parts.join('/'), actionPath: (...parts) => parts.join('/') };
  assert.deepEqual(actions.filter(one => one.applies(row)).map(one => one.id), ['stop', 'restart', 'unpause', 'migrate', 'delete']);
  assert.deepEqual(requestOf(actionOf('pause'), row, paths), { method: 'PUT', path: 'virtualmachineinstances/default/demo/pause' });
  assert.deepEqual(requestOf(actionOf('delete'), row, paths), { method: 'DELETE', path: 'virtualmachines/default/demo' });
  assert.equal(requestOf(actionOf('delete'), joined('k', undefined, vmiRow(vmi)), paths).path, 'virtualmachineinstances/default/demo');
  assert.deepEqual(checkOf(actionOf('stop'), row), { verb: 'update', group: 'subresources.kubevirt.io', resource: 'virtualmachines', subresource: 'stop', namespace: 'default', name: 'demo' });
});

test('parts of a VM', () => {
  assert.deepEqual(disksOf({ domain: { devices: { disks: [{ name: 'root', disk: { bus: 'virtio' } }] } }, volumes: [{ name: 'root', containerDisk: { image: 'i' } }, { name: 'extra', persistentVolumeClaim: { claimName: 'c' } }] }, { volumeStatus: [{ name: 'root', target: 'vda' }] }).map(one => [one.name, one.bus, one.source, one.target, one.claim]), [['root', 'virtio', 'image i', 'vda', ''], ['extra', '', 'claim c', '', 'c']]);
  assert.deepEqual(networksOf({ domain: { devices: { interfaces: [{ name: 'default', masquerade: {} }] } }, networks: [{ name: 'default', pod: {} }] }, { interfaces: [{ name: 'default', ipAddress: '10.0.0.1', mac: 'm' }] }).map(one => [one.binding, one.network, one.addresses, one.mac]), [['masquerade', 'pod network', ['10.0.0.1'], 'm']]);
  assert.deepEqual(conditionsOf({ status: { conditions: [{ type: 'Ready', status: 'True' }, { type: 'Failure', status: 'True' }, { type: 'Paused', status: 'True' }] } }).map(one => [one.type, one.tone]), [['Failure', 'bad'], ['Paused', 'warn'], ['Ready', 'good']]);
  assert.deepEqual(timeline([{ time: '2026-01-01T00:00:01Z', text: 'event Started: it runs' }], [{ lastTimestamp: '2026-01-01T00:00:01Z', reason: 'Started', message: 'it runs' }, { lastTimestamp: '2026-01-01T00:00:05Z', reason: 'Killing', message: 'x', type: 'Warning' }]).map(one => one.text), ['Killing: x', 'Started: it runs']);
  assert.deepEqual(disksOf(undefined, undefined), []);
});

test('images: what nodes have and what is in use', () => {
  const node = (name, ...images) => ({ metadata: { name }, status: { images } });
  const rows = imageRows([node('n1', { names: ['r/a:1', 'r/a@sha256:1'], sizeBytes: 5 }, { names: ['r/b:1'], sizeBytes: 9 }, { sizeBytes: 1 }, { names: [] }), node('n2', { names: ['r/a:1'], sizeBytes: 5 }), { metadata: { name: 'n3' } }],
    [{ name: 'vm', images: ['r/a@sha256:1'] }, { name: 'other', images: ['r/c:1'] }]);
  assert.deepEqual(rows.map(row => [row.name, row.nodes.join(), row.users.map(one => one.name).join()]), [['r/a@sha256:1', 'n1', 'vm'], ['r/c:1', '', 'other'], ['r/b:1', 'n1', ''], ['r/a:1', 'n2', '']]);
  assert.deepEqual([rows[0].bytes, rows[1].bytes], [5, NaN]);
  assert.deepEqual(imageRows([], []), []);
});

test('capacity', () => {
  const rows = nodeRows([{ metadata: { name: 'n1', labels: { 'kubevirt.io/schedulable': 'true' } }, status: { allocatable: { cpu: '4', memory: '1Gi' }, conditions: [{ type: 'Ready', status: 'True' }] } }], [{ node: 'n1', phase: 'Running', vcpus: 2, memory: '512Mi' }, { node: 'n1', phase: 'Failed', vcpus: 2, memory: '512Mi' }]);
  assert.deepEqual([rows[0].used, rows[0].cpu, rows[0].ready, rows[0].schedulable], [{ vms: 1, vcpus: 2, memory: 512 * 2 ** 20 }, 4, true, true]);
  assert.deepEqual(imagesInUse([{ images: ['a', 'b'] }, { images: ['b'] }]).map(([image, list]) => [image, list.length]), [['b', 2], ['a', 1]]);
  assert.equal(claimUsers([{ namespace: 'n', claims: ['c'], instance: { claims: ['c'] } }]).get('n/c').length, 1);
});

test('field help', () => {
  const document = { components: { schemas: {
    VM: { 'x-kubernetes-group-version-kind': [{ group: 'g', version: 'v1', kind: 'VM' }], type: 'object', properties: { spec: { $ref: '#/components/schemas/Spec' } } },
    Spec: { type: 'object', description: 'the spec', required: ['disks'], properties: { disks: { type: 'array', items: { allOf: [{ $ref: '#/components/schemas/Disk' }] }, description: 'its disks' }, labels: { type: 'object', additionalProperties: { type: 'string' } } } },
    Disk: { type: 'object', description: 'one disk', properties: { bus: { type: 'string', enum: ['virtio', 'sata'], description: 'which bus' } } } } } };
  const schema = schemaOfKind(document, 'g', 'v1', 'VM');
  assert.equal(fieldAt(document, schema, ['spec']).description, 'the spec');
  assert.deepEqual(fieldAt(document, schema, ['spec']).fields.map(one => [one.name, one.type, one.required]), [['disks', 'list of object', true], ['labels', 'map', false]]);
  assert.deepEqual(fieldAt(document, schema, ['spec', 'disks', 0, 'bus']).values, ['virtio', 'sata']);
  assert.equal(fieldAt(document, schema, ['spec', 'labels', 'x']).type, 'text');
  assert.equal(fieldAt(document, schema, ['spec', 'none', 'x']), null);
  assert.equal(schemaOfKind(document, 'g', 'v1', 'Other'), null);
});

test('the story of a request', () => {
  const request = { metadata: { namespace: 'default', name: '1' }, spec: { user: 'jane', verb: 'update', resource: 'virtualmachines', subresource: 'start', name: 'demo' }, status: { code: 409, reason: 'Conflict', rules: [{ id: 'X-1', field: 'spec.a' }], objects: [{ action: 'patched', object: 'o' }], verdict: 'refused', next: 'virtctl stop' } };
  const steps = fourSteps(request);
  assert.equal(steps.length, 4);
  assert.ok(steps[1].lines.includes('rule X-1 at spec.a'));
  assert.deepEqual(steps[3].lines, ['refused', 'Next: virtctl stop']);
  assert.equal(requestWords(request.spec), 'start VM demo');
  assert.deepEqual(subjectOf(request), { resource: 'virtualmachines', namespace: 'default', name: 'demo' });
  assert.equal(subjectOf({ spec: { resource: 'nodes' } }), null);
  assert.equal(fourSteps({}).length, 4);
  assert.deepEqual(['the guest runs', '', undefined, 'Done.'].map(sentence), ['The guest runs.', '', '', 'Done.']);
  assert.deepEqual([{ next: 'nothing is to be done' }, { next: 'virtctl start x' }, undefined].map(nextStep), ['', 'virtctl start x', '']);
});

test('why a stream was refused', () => {
  const node = text => ({ code: 500, message: `internal error: the node did not open the stream: the node answered 503 (503 Service Unavailable): ${text}\n` });
  for (const [error, next, text] of [[node('the display is in use, and its session was asked to be preserved'), 'taken', 'The display is in use, and its session was asked to be preserved.'],
    [node('another session is active'), 'taken', 'Another session is active.'], [node('vnc is not supported by simulated nodes'), 'ended', 'Vnc is not supported by simulated nodes.'],
    [{ code: 400, message: 'VMI "x" has no display: spec.domain.devices.autoattachGraphicsDevice is false' }, 'ended', 'VMI "x" has no display: spec.domain.devices.autoattachGraphicsDevice is false.'],
    [{ code: 403, message: 'forbidden' }, 'ended', 'Forbidden.'], [node('no such file'), 'again', 'No such file.'], [{ code: 503, message: 'slow down' }, 'again', 'Slow down.']]) assert.deepEqual(afterRefusal(error), { next, text });
});

test('after a stream closed', () => {
  const closed = more => afterClose({ reason: '', running: true, openMs: 60_000, failures: 0, ...more });
  assert.equal(closed({}), 'again');
  assert.equal(closed({ reason: 'another session took over' }), 'taken');
  assert.equal(closed({ running: false }), 'ended');
  assert.equal(closed({ failures: 4 }), 'again');
  for (const openMs of [-Infinity, 0, 100]) {
    assert.equal(closed({ openMs, failures: 4 }), 'ended');
    assert.equal(closed({ openMs, failures: 3 }), 'again');
  }
});
