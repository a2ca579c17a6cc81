import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actions, requestOf } from '../../ui/lib/actions.js';
import { actionPath, placed, resourcePath, setApiPrefix } from '../../ui/client/client.js';

test('paths of the API go where the server has it, others stay', () => {
  const paths = [resourcePath('virtualmachines'), resourcePath('nodes', '', 'n1'), actionPath('virtualmachineinstances', 'a', 'b', 'vnc'), '/openapi/v3/apis/kubevirt.io/v1', '/version'];
  for (const path of paths) assert.equal(placed(path), path);
  setApiPrefix('/ui/cluster');
  for (const path of paths) assert.equal(placed(path), `/ui/cluster${path}`);
  for (const path of ['/ui/session', '/ui/api/access', 'examples/vm.yaml', 'vendor/manifest.json', '/apiary']) assert.equal(placed(path), path);
  for (const action of actions) assert.match(placed(requestOf(action, { namespace: 'a', name: 'b' }, { resourcePath, actionPath }).path), /^\/ui\/cluster\/apis\//);
  setApiPrefix(undefined);
  assert.equal(placed('/api/v1/nodes'), '/api/v1/nodes');
});
