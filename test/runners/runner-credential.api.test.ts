import { test } from 'uvu';
import * as assert from 'uvu/assert';
import { issueRunnerCredential } from '../../commands/runners/runner-credential.ts';
import * as RunnerCredential from '../../domain/runners/runner-credential.ts';
import { given } from '../fixtures/given.ts';
import { createTestPlatform } from '../fixtures/test-platform.ts';
import { addMember } from '../fixtures/users.ts';

const issued = {
  agent_id: 'cagent0000000000000000000',
  public_key: 'U1',
  subject: 's',
  stream: 'AGENTS',
  consumer: 'c',
  expires_at: '2026-01-01T01:00:00.000Z',
};
const issuedEvent = { type: 'RunnerCredentialIssued', data: issued } as const;
const revokedEvent = { type: 'RunnerCredentialRevoked', data: {} } as const;

test('issuing or revoking a credential a second time emits no event; revoking the credential of another agent is refused', () => {
  given(RunnerCredential).when(RunnerCredential.issue(issued)).emits(issuedEvent);
  given(RunnerCredential, issuedEvent).when(RunnerCredential.issue(issued)).emits();
  given(RunnerCredential, issuedEvent)
    .when(RunnerCredential.issue({ ...issued, public_key: 'U2' }))
    .refuses('secret_already_shown');
  given(RunnerCredential, issuedEvent).when(RunnerCredential.revoke(issued.agent_id)).emits(revokedEvent);
  given(RunnerCredential, issuedEvent, revokedEvent).when(RunnerCredential.revoke(issued.agent_id)).emits();
  given(RunnerCredential, issuedEvent).when(RunnerCredential.revoke('another')).refuses('not_found');
  given(RunnerCredential).when(RunnerCredential.revoke(issued.agent_id)).refuses('not_found');
});

test("a credential's NATS permissions allow only the consumer, results and messages of its own agent, and one inbox", () =>
  assert.equal(RunnerCredential.permissionsOf('t', 'a', RunnerCredential.inboxOf('c')), {
    publish: ['$JS.API.CONSUMER.MSG.NEXT.AGENTS.runner-a', '$JS.ACK.AGENTS.runner-a.>', 'scores.t.a'],
    subscribe: ['_INBOX_c.>', 'agents.t.a.inbound'],
  }));

const broker = async ({ credential }: { credential: string }) => ({
  url: 'nats://broker',
  jwt: 'jwt',
  seed: 'SU',
  public_key: `U${credential}`,
});

const withAgent = async (options: Parameters<typeof createTestPlatform>[0] = {}) => {
  const p = await createTestPlatform(options);
  const { id } = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Triage', slug: 'triage' } })).body as { id: string };
  return { p, agent: id, path: `${p.tenant}/agents/${id}/runner-credentials` };
};

test('the owner of a credential is the user who requested it, or the owner of the runner key that requested it', async () => {
  const { p, agent, path } = await withAgent({ createBrokerUser: broker });
  const ann = await addMember(p, 'ADMIN', p.tenant_id, 'ann@example.com');
  const runner = (await p.send('POST', `${p.tenant}/agents/${agent}/runner-keys`, { body: { name: 'R' }, key: ann.key })).body as {
    key: string;
  };
  const own = (await p.send('GET', '/me')).body as { user: { id: string } };
  for (const key of [runner.key, ann.key, undefined]) await p.send('POST', path, key ? { key } : {});
  assert.equal(
    p.eventsOf('RunnerCredentialIssued').map(({ data }) => (data as { owner_id: string }).owner_id),
    [ann.user_id, ann.user_id, own.user.id],
  );
});

test('neither the log nor the list of credentials contains the secrets of a credential', async () => {
  const { p, agent, path } = await withAgent();
  const ctx = p.systemContext(p.tenant_id);
  const { state } = await issueRunnerCredential(broker)(ctx, { tenant_id: p.tenant_id, agent_id: agent });
  assert.equal([state.seed, state.jwt, state.consumer], ['SU', 'jwt', `runner-${agent}`]);
  assert.is(Date.parse(state.expires_at) - Date.parse(ctx.at()), 3_600_000);
  assert.equal([state.inbox_prefix, Date.parse(state.renew_at) - Date.parse(ctx.at())], [`_INBOX_${state.id}`, 2_700_000]);
  const [event] = p.eventsOf('RunnerCredentialIssued');
  assert.not.match(JSON.stringify({ ...event, position: null }), /"SU"|"jwt"/);
  await p.waitForProjections();
  const listed = await p.send('GET', path);
  assert.equal(listed.body, [{ id: state.id, agent_id: agent, created_at: ctx.at(), expires_at: state.expires_at, revoked_at: null }]);
  assert.is((await p.send('DELETE', `${path}/${state.id}`)).status, 204);
  assert.is((await p.send('DELETE', `${path}/${state.id}`)).status, 204);
  await p.waitForProjections();
  const [after] = (await p.send('GET', path)).body as { revoked_at: string | null }[];
  assert.type(after?.revoked_at, 'string');
  assert.is(p.eventsOf('RunnerCredentialRevoked').length, 1);
  assert.equal(p.unappliedEvents(), []);
});

test('if no broker is configured, a request for a credential is refused with the code not_configured', async () => {
  const { p, path } = await withAgent();
  const answer = await p.send('POST', path);
  assert.equal([answer.status, (answer.body as { code: string }).code], [409, 'not_configured']);
  assert.is(p.eventsOf('RunnerCredentialIssued').length, 0);
});

test("an agent's own runner key can issue and list its credentials; another agent's key and other members cannot", async () => {
  const { p, agent, path } = await withAgent();
  const { id: other } = (await p.send('POST', `${p.tenant}/agents`, { body: { name: 'Other', slug: 'other' } })).body as { id: string };
  const owner = await addMember(p, 'OWNER');
  const keyFor = async (agent_id: string, expires_at: string | null = null): Promise<string> => {
    const answer = await p.send('POST', `${p.tenant}/agents/${agent_id}/runner-keys`, {
      key: owner.key,
      body: { name: 'Runner', expires_at },
    });
    return (answer.body as { key: string }).key;
  };
  const [own, foreign, member] = [await keyFor(agent), await keyFor(other), await addMember(p, 'MEMBER')];
  const statusOf = async (method: string, key: string, at = path): Promise<number> => (await p.send(method, at, { key })).status;
  assert.equal([await statusOf('POST', own), await statusOf('GET', own)], [409, 200]);
  assert.equal([await statusOf('POST', foreign), await statusOf('GET', foreign)], [403, 403]);
  assert.is(await statusOf('POST', member.key), 404);
  assert.is(await statusOf('DELETE', own, `${path}/${issued.agent_id}`), 403);
});

test.run();
