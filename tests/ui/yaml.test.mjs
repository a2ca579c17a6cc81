import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { outline, pathAt, pathOfText, pathText, removeField, setValue, tokens, valueOf } from '../../ui/lib/yaml.js';
import { editable, toYaml } from '../../ui/lib/yaml_write.js';
import { documentsOf, EXAMPLES, RESOURCES } from '../../ui/views/examples.js';

const examples = new URL('../../examples/', import.meta.url);
const vm = readFileSync(new URL('vm.yaml', examples), 'utf8');

test('paths of lines', () => {
  const at = text => pathText(pathAt(vm, vm.split('\n').findIndex(line => line.includes(text))));
  assert.equal(at('runStrategy'), 'spec.runStrategy');
  assert.equal(at('name: cloudinit'), 'spec.template.spec.domain.devices.disks[1].name');
  assert.equal(at('masquerade'), 'spec.template.spec.domain.devices.interfaces[0].masquerade');
  assert.equal(at('guest: 128Mi'), 'spec.template.spec.domain.memory.guest');
  assert.equal(at('pod: {}'), 'spec.template.spec.networks[0].pod');
  assert.equal(at('image:'), 'spec.template.spec.volumes[0].containerDisk.image');
  assert.equal(at('hostname: demo'), 'spec.template.spec.volumes[1].cloudInitNoCloud.userData', 'inside of a block scalar');
  assert.deepEqual(pathOfText('spec.disks[1].name'), ['spec', 'disks', 1, 'name']);
});

test('values', () => {
  assert.equal(valueOf(vm, ['metadata', 'name']), 'demo');
  assert.equal(valueOf(vm, ['spec', 'template', 'spec', 'volumes', 0, 'containerDisk', 'image']), 'virtgate.local/demo:1');
  assert.equal(valueOf('a: "x # y" # z\nb: \'it\'\'s\'\nc: plain # comment', ['a']), 'x # y');
  assert.equal(valueOf('b: \'it\'\'s\'', ['b']), "it's");
  assert.equal(valueOf('c: plain # comment', ['c']), 'plain');
  assert.equal(valueOf(vm, ['spec', 'none']), undefined);
  assert.equal(valueOf('a:\n- - x\n  - y\n- z', ['a', 0, 1]), 'y');
  assert.equal(valueOf('a:\n- x: 1\n  y: 2\n- x: 3\nb: 4', ['a', 1, 'x']), '3');
  assert.equal(valueOf('a:\n- x: 1\n  y: 2\n- x: 3\nb: 4', ['b']), '4');
});

test('setting a value changes one line, or adds what is missing', () => {
  assert.equal(setValue('a: 1 # one\nb: 2', ['a'], 5), 'a: 5 # one\nb: 2');
  assert.equal(setValue('metadata:\n  name: x\nspec: {}', ['metadata', 'namespace'], 'prod'), 'metadata:\n  name: x\n  namespace: prod\nspec: {}');
  assert.equal(setValue('a:\n  b:\n    c: 1\nd: 2', ['a', 'x', 'y'], 'z'), 'a:\n  b:\n    c: 1\n  x:\n    y: z\nd: 2');
  assert.equal(setValue('a: {}', ['a', 'b'], 1), 'a:\n  b: 1');
  const once = setValue(vm, ['spec', 'template', 'spec', 'domain', 'cpu', 'cores'], 2);
  assert.equal(valueOf(once, ['spec', 'template', 'spec', 'domain', 'cpu', 'cores']), '2');
  assert.equal(once.split('\n').length, vm.split('\n').length + 2);
  assert.equal(removeField(once, ['spec', 'template', 'spec', 'domain', 'cpu']), vm);
  assert.equal(valueOf(setValue(vm, ['metadata', 'name'], 'on'), ['metadata', 'name']), 'on');
  assert.match(setValue(vm, ['metadata', 'name'], 'on'), /name: "on"/, 'words that YAML takes for others are quoted');
  assert.match(setValue(vm, ['metadata', 'name'], '<img src=x> # "'), /name: "<img src=x> # \\""/);
});

test('lines inside of block scalars are no fields', () => {
  assert.deepEqual(outline('a: |\n  b: 1\n\n  c: 2\nd: 3').map(one => pathText(one.path)), ['a', 'd']);
});

test('tokens are the whole line', () => {
  for (const line of [...vm.split('\n'), '- - a: "b" # c', 'x: |', '  # only', 'url: https://x/#y', '- ', ':', '"a b": c']) assert.equal(tokens(line).map(([, part]) => part).join(''), line);
});

test('an object as YAML is read as the same fields', () => {
  const object = { apiVersion: 'v1', metadata: { name: 'x', managedFields: [1], annotations: { a: '' } }, spec: { list: [{ a: 1, b: [true, null] }, [], [[1, 2]]], text: 'one\ntwo\n', odd: ' lead\n', yes: 'yes', number: '007', colon: 'a: b', empty: {}, tag: '!x', at: '@x', nl: 'a\n\nb' }, status: {} };
  const text = toYaml(editable(object));
  assert.ok(!text.includes('managedFields') && !text.includes('status'));
  for (const [path, value] of [[['spec', 'yes'], 'yes'], [['spec', 'number'], '007'], [['spec', 'colon'], 'a: b'], [['spec', 'odd'], ' lead\n'], [['spec', 'list', 0, 'b', 0], 'true'], [['metadata', 'annotations', 'a'], '']]) assert.equal(valueOf(text, path), value, text);
  assert.match(text, /"yes": "yes"/);
  assert.match(text, /number: "007"/);
  assert.match(text, /text: \|\n {4}one\n {4}two\n/);
  assert.match(text, /tag: "!x"/);
});

test('every example is offered, and the page knows where to create it', () => {
  assert.deepEqual(EXAMPLES.map(one => one.file).sort(), readdirSync(examples).filter(name => name.endsWith('.yaml')).sort());
  for (const { file } of EXAMPLES) for (const one of documentsOf(readFileSync(new URL(file, examples), 'utf8'))) {
    assert.ok(RESOURCES[`${valueOf(one, ['apiVersion'])} ${valueOf(one, ['kind'])}`], `${file}: ${valueOf(one, ['apiVersion'])} ${valueOf(one, ['kind'])}`);
    assert.ok(valueOf(one, ['metadata', 'name']), file);
  }
});
