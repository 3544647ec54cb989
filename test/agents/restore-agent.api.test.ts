import { randomUUID } from 'node:crypto';
import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { tokenOf } from '../../domain/event.ts';
import { LogError } from '../../infra/eventstore/event-log.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { UNSET_SLACK_CONFIG } from '../fixtures/unset-slack-config.ts';

type Json = Record<string, unknown>;

const p = await createTestPlatform();
const FIRST = { slack_rpm_limit: 5, working_hours_start: '09:00', working_hours_end: '17:00' };
const SECOND = { slack_rpm_limit: null, slack_rph_limit: 60, working_hours_start: '18:00', working_hours_end: '20:00' };

let count = 0;
/** Creates an agent with the revisions 0, 1 and 2. Its Slack settings change after each of these revisions. */
const createAgent = async (): Promise<string> => {
  const { id } = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Agent', slug: `a${count++}` } })).body as { id: string };
  const path = `${p.tenant}/agents/${id}`;
  await p.send('PUT', `${path}/slack-config`, { body: FIRST });
  await p.send('PATCH', path, { body: { voice: 'one' } });
  await p.send('PUT', `${path}/slack-config`, { body: SECOND });
  await p.send('PATCH', path, { body: { voice: 'two' } });
  await p.send('PUT', `${path}/slack-config`, { body: { working_hours_enabled: true } });
  return path;
};
const restore = (path: string, revision: number, headers = {}) => p.send('POST', `${path}/restore`, { body: { revision }, headers });
const slackOf = async (path: string): Promise<Json> => (await p.send('GET', `${path}/slack-config`)).body as Json;
const appended = () => p.eventsOf('AgentRestored', 'AgentSlackConfigChanged').length;

/** Makes the next append of an event of this type fail as if the event store were not reachable. */
const failNextAppendOf = (type: string): void => {
  const { append } = p.log;
  Object.assign(p.log, {
    append: (...call: Parameters<typeof append>) => {
      if (!call[2].some((event) => event.type === type)) return append(...call);
      Object.assign(p.log, { append });
      return Promise.reject(new LogError('unavailable', 'a test'));
    },
  });
};

test('restoring a revision of an agent also restores the Slack settings that the agent had at that revision', async () => {
  const path = await createAgent();
  const expected: [number, string | null, Json][] = [
    [1, 'one', { ...UNSET_SLACK_CONFIG, ...FIRST }],
    [2, 'two', { ...UNSET_SLACK_CONFIG, ...SECOND }],
    [0, null, UNSET_SLACK_CONFIG],
  ];
  for (const [revision, voice, slack] of expected) {
    const answer = await restore(path, revision);
    assert.equal([answer.status, (answer.body as Json).voice, await slackOf(path)], [200, voice, slack], `revision ${revision}`);
  }
});

test('restoring the same revision twice appends events only the first time', async () => {
  const path = await createAgent();
  const first = await restore(path, 1);
  const events = p.log.events.length;
  const again = await restore(path, 1);
  assert.equal([again.status, again.body, again.headers.get('etag')], [200, first.body, first.headers.get('etag')]);
  assert.is(p.log.events.length, events);
});

test('if a restore changes only the Slack settings, the ETag of the agent does not change, and the Consistency-Token of the response covers the change', async () => {
  const path = await createAgent();
  const { headers } = await restore(path, 2);
  const last = p.log.events.at(-1)!;
  assert.equal(
    [headers.get('etag'), last.type, headers.get('consistency-token')],
    ['"2"', 'AgentSlackConfigChanged', tokenOf(last.position)],
  );
  assert.equal(await slackOf(path), { ...UNSET_SLACK_CONFIG, ...SECOND });
});

test('if restoring a revision fails before the Slack settings are appended, repeating the request restores them, with and without an Idempotency-Key', async () => {
  for (const headers of [{}, { 'idempotency-key': 'restore' }]) {
    const path = await createAgent();
    const before = appended();
    failNextAppendOf('AgentSlackConfigChanged');
    assert.is((await restore(path, 1, headers)).status, 503);
    assert.equal([appended() - before, (await slackOf(path)).slack_rpm_limit], [1, null], 'only the agent is restored');
    const repeated = await restore(path, 1, headers);
    assert.equal([repeated.status, (repeated.body as Json).voice, await slackOf(path)], [200, 'one', { ...UNSET_SLACK_CONFIG, ...FIRST }]);
    assert.is(appended() - before, 2);
  }
});

test('restoring a revision with an outdated If-Match gets 412 and changes neither the agent nor its Slack settings', async () => {
  const path = await createAgent();
  const [before, slack] = [appended(), await slackOf(path)];
  assert.is((await restore(path, 1, { 'if-match': '"1"' })).status, 412);
  assert.equal([appended(), await slackOf(path)], [before, slack]);
  assert.is((await restore(path, 1, { 'if-match': '"2"' })).status, 200);
  assert.equal(await slackOf(path), { ...UNSET_SLACK_CONFIG, ...FIRST });
});

test('restoring a revision that does not exist is refused, and the Slack settings stay unchanged', async () => {
  const path = await createAgent();
  const before = appended();
  assert.is((await restore(path, 3)).status, 422);
  assert.is(appended(), before);
});

test("a read of an agent's Slack settings returns the settings that another process has just written", async () => {
  const path = await createAgent();
  await slackOf(path);
  const { stream, revision, meta } = p.eventsOf('AgentSlackConfigChanged').at(-1)!;
  await p.log.append(stream, revision, [{ id: randomUUID(), type: 'AgentSlackConfigChanged', data: { slack_rpm_limit: 7 }, meta }]);
  await p.waitForProjections();
  assert.is((await slackOf(path)).slack_rpm_limit, 7);
});

afterLastTest(() => p.close());

test.run();
