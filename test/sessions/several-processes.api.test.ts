import * as assert from 'uvu/assert';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { startSecondPlatform } from '../fixtures/second-platform.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';
import { test } from '../fixtures/test-with-cleanup.ts';

const p = await createSessionPlatform();
const asked = { role: 'assistant', kind: 'approval', content: '', approval: { action: 'Merge' } };

/** What a second process answers before and after a change in the first one. */
const cases: Record<string, (get: (path: string) => Promise<Json>, session: string) => Promise<readonly unknown[]>> = {
  'a message': async (get, session) => {
    const count = async () => ((await get(session)).messages as Json[]).length;
    const before = await count();
    await p.append(session, { content: 'Done' });
    return [before, await count(), 0, 1];
  },
  'a decision': async (get, session) => {
    const path = `${session}/messages/${((await p.append(session, asked)).body as Json).id}`;
    const { status } = await get(`${path}/approval`);
    await p.send('POST', `${path}/decision`, { key: p.key, body: { decision: 'denied' } });
    return [status, (await get(`${path}/approval`)).status, 'open', 'denied'];
  },
  'an end': async (get, session) => {
    const status = async () => ((await get(session)).session as Json).status;
    const before = await status();
    await p.end(session, 'complete');
    return [before, await status(), 'running', 'completed'];
  },
};

for (const [name, run] of Object.entries(cases))
  test(`each process shows ${name} in a session that another process has recorded`, async () => {
    const other = await startSecondPlatform(p);
    const get = async (path: string): Promise<Json> => (await (await other.send('GET', path, p.agent.runner)).json()) as Json;
    const [before, after, ...expected] = await run(get, await p.startSession({}, p.key));
    assert.equal([before, after], expected);
  });

afterLastTest(() => p.close());

test.run();
