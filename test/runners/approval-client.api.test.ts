import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { expire } from '../../domain/sessions/expire-session.ts';
import * as Session from '../../domain/sessions/session.ts';
import { apiClient } from '../../infra/runner/api-client.ts';
import { openLiveSession } from '../../infra/runner/live-session.ts';
import { createOutageReport } from '../../infra/runner/outage-report.ts';
import { connectRunner, Refusal, SessionStopped } from '../../infra/runner/runner-client.ts';
import { liveSession } from '../../infra/runner/session-client.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { eventually } from '../fixtures/child-process.ts';
import { serveApp } from '../fixtures/serve-app.ts';
import { createSessionPlatform, type Json } from '../fixtures/session-platform.ts';

const p = await createSessionPlatform();
const served = await serveApp(p);
const ASK = { action: 'Merge pull request 42', detail: 'All checks have passed.' };

/** Connects a runner of the agent, which stops when `signal` is aborted. */
const connect = (signal = new AbortController().signal) =>
  connectRunner({ url: served.url, key: p.agent.runner, signal, report: () => {} });

const approvalsIn = async (session: string): Promise<Json[]> =>
  ((await p.read(`${p.tenant}/sessions/${session}`)).messages as Json[]).map(({ approval }) => approval as Json).filter(Boolean);

/** Waits until the session has an open approval. @returns its path */
const asked = async (session: string): Promise<string> => {
  let path = '';
  await eventually('the runner has asked', async () => {
    const open = (await approvalsIn(session)).find(({ status }) => status === 'open');
    if (open) path = `${p.tenant}/sessions/${session}/messages/${open.id}`;
    return open !== undefined;
  });
  return path;
};
const decide = (path: string, body: object) => p.send('POST', `${path}/decision`, { body });

test('a runner that asks for an approval gets the decision with its comment, and who made it', async () => {
  const session = await (await connect()).startSession();
  const waiting = session.approve(ASK);
  await decide(await asked(session.id), { decision: 'denied', comment: 'Not on a Friday' });
  const { decision, comment, decidedBy } = await waiting;
  assert.equal([decision, comment], ['denied', 'Not on a Friday']);
  assert.equal(decidedBy?.email, 'admin@annals.localhost');
});

test('a runner that asks is told if the approval expires, or if its session is cancelled', async () => {
  const runner = await connect();
  const [one, two] = [await runner.startSession(), await runner.startSession()];
  const expiresAt = new Date(Date.now() + 600_000).toISOString();
  const expiring = one.approve({ ...ASK, expiresAt });
  const cancelled = two.approve(ASK);
  await asked(two.id);
  await two.cancel();
  assert.equal(await cancelled, { decision: 'cancelled', comment: null, decidedBy: null });
  await asked(one.id);
  await p.systemContext(p.tenant_id).transact(Session, one.id, expire(expiresAt));
  assert.equal(await expiring, { decision: 'expired', comment: null, decidedBy: null });
});

test('a runner that is stopped ends the wait; after its restart, the same key finds the decision made meanwhile', async () => {
  const control = new AbortController();
  const session = await (await connect(control.signal)).startSession({}, 'session-1');
  const waiting = session.approve({ ...ASK, key: 'merge-42' });
  const path = await asked(session.id);
  control.abort();
  const error = await waiting.then(
    () => null,
    (failed: Error) => failed,
  );
  assert.is(error?.name, 'AbortError');
  await decide(path, { decision: 'approved' });
  const again = await (await connect()).startSession({}, 'session-1');
  assert.is(again.id, session.id);
  assert.is((await again.approve({ ...ASK, key: 'merge-42' })).decision, 'approved');
  assert.is((await approvalsIn(session.id)).length, 1, 'people are asked once');
  const other = await again.approve({ ...ASK, action: 'Delete the branch', key: 'merge-42' }).catch((failed: unknown) => failed);
  assert.ok(other instanceof Refusal, 'another request with the same key is refused');
});

/** A session on which a handler works, whose event has the id `e0`. */
const live = async () => {
  const api = apiClient({ url: served.url, key: p.agent.runner, outage: createOutageReport(() => {}, '') });
  const [agent, { id }] = [await api.find(undefined), await (await connect()).startSession()];
  const opened = openLiveSession('e0', id, new AbortController().signal);
  return { id, opened, session: liveSession({ api, agent, stop: new AbortController().signal }, id, opened) };
};
const eventOf = (index: number, type: string, data: object = {}) =>
  ({ specversion: '1.0', id: `e${index}`, subject: '', previous: `e${index - 1}`, type: `annals.session.${type}`, data }) as const;

test('a handler that asks for an approval is told when a person stops the session', async () => {
  const { id, opened, session } = await live();
  const waiting = session.approve(ASK).catch((error: unknown) => error);
  await asked(id);
  opened.take([eventOf(1, 'interrupted')]);
  assert.instance(await waiting, SessionStopped);
});

test('a decision that a handler has requested is acknowledged; the messages after it still reach the handler', async () => {
  const { id, opened, session } = await live();
  const waiting = session.approve(ASK);
  const path = await asked(id);
  await decide(path, { decision: 'approved' });
  opened.take([
    eventOf(2, 'message', { message: { content: 'continue' }, files: [] }),
    eventOf(1, 'decision', { decision: { message_id: path.split('/').at(-1) } }),
  ]);
  assert.is((await waiting).decision, 'approved');
  for await (const { content } of session.messages()) {
    assert.is(content, 'continue');
    break;
  }
  assert.equal(
    opened.close().map(({ id }) => id),
    ['e1', 'e2'],
  );
});

afterLastTest(async () => {
  await served.close();
  p.close();
});

test.run();
