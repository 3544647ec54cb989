import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import type { RunningPlatform } from '../faults/running-platform.ts';
import { createDataset } from '../faults/tenants.ts';
import { runningPlatform } from '../fixtures/running-platform.ts';

const onPlatform = runningPlatform();

/** Creates an agent. @returns a function that links a repository to this agent */
const linkerOn = async (platform: RunningPlatform) => {
  const { agents } = await createDataset(platform, { tenants: 1, agents: 1, hooks: 0 });
  const { tenant, id } = agents[0]!;
  return (url: string) => platform.call('PUT', `/tenant/${tenant.id}/agents/${id}/repo`, { url }, { key: tenant.key });
};

test('without an entry in EGRESS_ALLOW, annals start sends no request to a private address', async () => {
  let connections = 0;
  const canary = createServer((_, response) => response.end()).on('connection', () => connections++);
  await new Promise<void>((resolve) => canary.listen(0, '127.0.0.1', resolve));
  const { port } = canary.address() as AddressInfo;
  try {
    await onPlatform(async (platform) => {
      const link = await linkerOn(platform);
      const urls = [`http://127.0.0.1:${port}/a`, `https://127.0.0.1:${port}/a`, 'https://localhost/a', 'https://169.254.169.254/a'];
      for (const url of urls) assert.equal([url, (await link(url)).status], [url, 422]);
    });
    assert.is(connections, 0);
  } finally {
    canary.close();
  }
});

test.run();
