import { test } from 'uvu';
import * as assert from 'uvu/assert';
import * as LinkedIdentity from '../../domain/credentials/linked-identity.ts';
import { entryIdOf } from '../../domain/memory/entry-id.ts';
import { omit } from '../../domain/omit.ts';
import { afterLastTest } from '../fixtures/after-last-test.ts';
import { createAgent, createIntegration, deliver, startConsole } from '../fixtures/console-platform.ts';
import { createRunner, seedSession } from '../fixtures/console-sessions.ts';
import { addMember } from '../fixtures/users.ts';
import { importMemory } from '../two-tenants/seed-memory.ts';

const p = await startConsole();
const agent = await createAgent(p, 'Reviewer');
const quiet = await createAgent(p, 'Triage');
const integration = await createIntegration(p, agent);
const session = await seedSession(p, agent);
const at = `${p.base}/agents/${agent}`;
const signedIn = async (role: 'MEMBER' | 'AUDITOR', agentRole?: string): Promise<string> => {
  const member = await addMember(p, role, p.tenant_id, `${role}-${agentRole ?? 'none'}@example.com`.toLowerCase());
  if (agentRole) await p.send('PUT', `${p.tenant}/agents/${agent}/roles/${member.user_id}`, { body: { role: agentRole } });
  await p.waitForProjections();
  return p.signIn(member.key);
};
const manager = await signedIn('MEMBER', 'MANAGER');
const auditor = await signedIn('AUDITOR');

test('the tab of integrations lists those of the agent; visitors who may not read integrations see the connected providers', async () => {
  const { text } = await p.open(`${at}/integrations`);
  assert.match(text, new RegExp(`aria-current="page"[^>]*>Integrations[\\s\\S]*data-kind="integration" data-id="${integration}"`));
  assert.match((await p.open(`${p.base}/agents/${quiet}/integrations`)).text, /data-empty[\s\S]+No integrations[\s\S]+Connect a provider/);
  for (const visitor of [manager, auditor]) {
    const seen = await p.open(`${at}/integrations`, visitor);
    assert.is(seen.status, 200);
    assert.match(seen.text, /data-kind="provider" data-id="github"/);
    assert.not.match(seen.text, /data-kind="integration"|Connect a provider/);
  }
});

test('the tab of sessions lists those of the agent, with links for all who may read them', async () => {
  const link = new RegExp(`href="${p.base}/sessions/${session.id}"`);
  const row = new RegExp(`data-kind="session" data-id="${session.id}"[\\s\\S]+Review of pull request 42`);
  for (const visitor of [undefined, auditor, manager]) {
    const { text } = await p.open(`${at}/sessions`, visitor);
    assert.match(text, row);
    assert.match(text, link);
  }
  assert.is((await p.open(`${p.base}/sessions/${session.id}`, manager)).status, 200);
  assert.match((await p.open(`${p.base}/agents/${quiet}/sessions`)).text, /data-empty[\s\S]+No sessions/);
  await p.recordPending();
  assert.equal(p.eventsOf('AccessRefused'), []);
});

test('who may start a session of an agent gets the button for it on its pages, except on the tab that has the form and in the past', async () => {
  const button = new RegExp(`<a[^>]*class="button primary"[^>]*href="${at}/sessions"`);
  const isOffered = async (path: string, cookie?: string): Promise<boolean> => button.test((await p.open(`${at}${path}`, cookie)).text);
  assert.equal([await isOffered(''), await isOffered('/cost'), await isOffered('', manager)], [true, true, true]);
  assert.equal([await isOffered('/sessions'), await isOffered('', auditor)], [false, false]);
  const { position } = p.log.events.at(-1)!;
  assert.is(await isOffered(`?as_of=${position.commit}:${position.prepare}`), false);
});

test('a paused agent counts the deliveries that were blocked since, and activating it can lead to their release', async () => {
  const paused = await createAgent(p, 'Paused');
  const hook = await createIntegration(p, paused, 'annals/paused');
  const setActive = (is_active: boolean) => p.send('PATCH', `${p.tenant}/agents/${paused}`, { body: { is_active } });
  const page = `${p.base}/agents/${paused}`;
  const noted = async (cookie?: string): Promise<string | undefined> => {
    await p.waitForProjections();
    return /data-paused="(\d+)"/.exec((await p.open(page, cookie)).text)?.[1];
  };
  await setActive(false);
  await deliver(p, hook, 'push', { of: 'an earlier pause' });
  await setActive(true);
  await deliver(p, hook, 'push', { of: 'no pause' });
  assert.is(await noted(), undefined);
  await setActive(false);
  assert.is(await noted(), '0');
  for (const number of [1, 2, 3]) await deliver(p, hook, 'push', { number });
  assert.is(await noted(), '3');
  const { text } = await p.open(page);
  const list = /href="([^"]+)"[^>]*>3 deliveries</.exec(text)![1]!.replaceAll('&amp;', '&');
  assert.is((await p.open(list)).text.match(/data-kind="delivery"/g)?.length, 3);
  // The pause is found before more changes than one page of the history has; the earlier pause does not count.
  for (let n = 0; n < 205; n++) await p.send('PATCH', `${p.tenant}/agents/${paused}`, { body: { description: `Change ${n}` } });
  assert.is(await noted(), '3');
  // Auditors may not read deliveries, so a count of those that they see would be wrong.
  assert.match((await p.open(page, auditor)).text, /data-paused(?:>|="")/);
  assert.not.match((await p.open(page, auditor)).text, /Activate and release/);

  const form = [...text.matchAll(/<form[^>]*data-form="updateAgent"[\s\S]*?<\/form>/g)]
    .map(([one]) => one)
    .find((one) => one.includes('release'))!;
  const fields = Object.fromEntries(
    [...form.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!.replaceAll('&amp;', '&')]),
  );
  // A delivery that is blocked after the page was rendered is released, too.
  await deliver(p, hook, 'push', { number: 4 });
  const answer = await p.submit('/console/run/updateAgent', fields);
  assert.is(answer.status, 303, answer.text);
  await p.waitForProjections();
  const release = await p.open(answer.headers.get('location')!);
  const shown = Object.fromEntries(new URL(answer.headers.get('location')!, 'http://localhost').searchParams);
  const filter = omit(shown, 'return_to', 'after', 'tenant_id');
  const counted = await p.send('POST', `${p.tenant}/deliveries/replay`, { body: { ...filter, dry_run: true } });
  assert.is((counted.body as { total: number }).total, 4, counted.text);
  assert.match(release.text, /Agent <\/span>Paused[\s\S]+Reason <\/span>The agent was paused[\s\S]+Outcome <\/span>Blocked/);
  assert.is(await noted(), undefined);
});

test('the tab of the memory shows what the agent remembers, who wrote it in which session, and how to remove it', async () => {
  const memory = `${p.tenant}/agents/${agent}/memory`;
  const remember = async (body: Record<string, unknown>, key = p.key) =>
    ((await p.send('POST', memory, { key, body })).body as { id: string; created_at: string }) ?? {};
  const learned = await remember({ text: 'Ada likes <short> notes.', source: 'pull request 42', session_id: session.id }, session.runner);
  const told = await remember({ text: 'Releases are on Tuesdays.' });
  const imported = await importMemory(p, p.tenant_id, agent, { key: p.key, text: 'From a file.' });
  await p.waitForProjections();
  const { text } = await p.open(`${at}/memory`);
  const rowOf = (id: string): string => new RegExp(`<tr[^>]*data-id="${id}"[\\s\\S]*?</tr>`).exec(text)?.[0] ?? '';
  assert.match(rowOf(learned.id), /Ada likes &lt;short&gt; notes\.[\s\S]+pull request 42[\s\S]+the agent itself/);
  assert.match(rowOf(learned.id), new RegExp(`href="${p.base}/sessions/${session.id}"`));
  assert.match(rowOf(learned.id), new RegExp(`/console/run/forgetMemorySince\\?[^"]*since=${encodeURIComponent(learned.created_at)}`));
  assert.match(rowOf(told.id), /Releases are on Tuesdays\.[\s\S]+data-form="forgetMemoryEntry"/);
  assert.not.match(rowOf(told.id), /the agent itself/);
  const ofFile = rowOf(entryIdOf(imported, 0));
  assert.match(ofFile, new RegExp(`href="${p.base}/jobs/${imported}"`));
  assert.not.match(ofFile, /forgetMemory/);
  const searched = (await p.open(`${at}/memory?q=TUESDAYS&origin=remembered`)).text;
  assert.match(searched, new RegExp(`data-id="${told.id}"`));
  assert.not.match(searched, new RegExp(`data-id="${learned.id}"`));
  const seen = await p.open(`${at}/memory`, auditor);
  assert.match(seen.text, new RegExp(`data-id="${told.id}"`));
  assert.not.match(seen.text, /forgetMemory|\/console\/run\/remember\?/);
  assert.match((await p.open(`${p.base}/agents/${quiet}/memory`)).text, /data-empty[\s\S]+The memory is empty/);
  const path = { ':tenant_id': p.tenant_id, ':agent_id': agent, _return: `${at}/memory` };
  const shownAfter = async (operation: string, fields: Record<string, string>): Promise<string> => {
    const { status, headers } = await p.submit(`/console/run/${operation}`, { ...path, ...fields });
    assert.is(status, 303);
    await p.waitForProjections();
    return (await p.open(headers.get('location')!)).text;
  };
  assert.not.match(await shownAfter('forgetMemoryEntry', { ':entry_id': told.id }), new RegExp(`data-id="${told.id}"`));
  const form = (await p.open(/href="(\/console\/run\/forgetMemorySince[^"]+)"/.exec(rowOf(learned.id))![1]!.replaceAll('&amp;', '&'))).text;
  const since = /name="\/since"[^>]*value="([^"]+)"|value="([^"]+)"[^>]*name="\/since"/.exec(form)!;
  const last = await shownAfter('forgetMemorySince', { '/since': since[1] ?? since[2]!, _key: 'k'.repeat(36) });
  assert.not.match(last, new RegExp(`data-id="${learned.id}"`));
  assert.match(last, /From a file\./);
});

test('the tab of costs shows the hours in which the budget was used', async () => {
  await p.send('POST', `${p.tenant}/agents/${agent}/budget/reserve`, { key: session.runner, body: { amount_usd: 0.4 } });
  const { text } = await p.open(`${at}/cost`);
  assert.match(text, /0 reservations were refused in these 24 hours[\s\S]+data-kind="budget-hour"[\s\S]+\$0\.40/);
});

const createDatabase = async (host: string): Promise<string> => {
  const body = { host, database: 'orders', username: 'reporting', password: 'canary of a password' };
  return ((await p.send('POST', `${p.tenant}/database-credentials`, { body })).body as { id: string }).id;
};

/** Links an account that belongs to the agent itself. */
const linkOwnAccount = async (): Promise<string> => {
  const tokens = { scopes: [], expires_at: null, sealed_tokens: 'sealed', refreshable: false };
  const fields = { agent_id: agent, provider: 'google', label: 'Its own account', ...tokens };
  return (await p.systemContext(p.tenant_id).transact(LinkedIdentity, 'cown000000000000000000000', LinkedIdentity.link(fields))).id;
};

test('the tab of the runner lists the credentials that the agent has; its form offers only those of the tenant', async () => {
  const [given, other, own] = [await createDatabase('one.example.com'), await createDatabase('two.example.com'), await linkOwnAccount()];
  assert.match((await p.open(`${at}/runner`)).text, /No credentials of the tenant[\s\S]+Give a credential/);
  const form = `/console/run/giveAgentCredential?tenant_id=${p.tenant_id}&agent_id=${agent}`;
  await p.waitForProjections();
  const { text } = await p.open(form);
  for (const [id, isOffered] of [
    [given, true],
    [other, true],
    [own, false],
  ] as const)
    assert.is(text.includes(`value="${id}"`), isOffered, id);
  const submitted = await p.submit('/console/run/giveAgentCredential', {
    ':tenant_id': p.tenant_id,
    ':agent_id': agent,
    ':identity_id': given,
  });
  assert.is(submitted.status, 303, submitted.text);
  const row = new RegExp(`data-kind="credential" data-id="${given}"[\\s\\S]+reporting@one\\.example\\.com:5432/orders`);
  const seen = await p.open(`${at}/runner`);
  assert.match(seen.text, row);
  assert.match(seen.text, /href="\/console\/run\/takeAgentCredential\?/);
  assert.not.match(seen.text, /canary/);
  for (const visitor of [manager, auditor]) {
    const page = (await p.open(`${at}/runner`, visitor)).text;
    assert.match(page, row);
    assert.not.match(page, /takeAgentCredential|giveAgentCredential/);
  }
});

test('the page of a deleted agent says what a restore brings back, and what never comes back', async () => {
  const gone = await createAgent(p, 'Gone');
  await p.send('DELETE', `${p.tenant}/agents/${gone}`);
  await p.waitForProjections();
  const { text } = await p.open(`${p.base}/agents/${gone}`);
  assert.match(
    text,
    /can be restored with its settings[\s\S]+data-lost[^>]*>What never comes back: the deliveries[^<]+credentials of the tenant[\s\S]+data-form="restoreAgent"/,
  );
});

test('the card "Now" of an agent says what its runner, its queue and its budget do, and what failed last', async () => {
  const failing = await createAgent(p, 'Failing');
  const now = async (query = ''): Promise<string> => (await p.open(`${p.base}/agents/${failing}${query}`)).text.split('<h2>Now</h2>')[1]!;
  const before = await now();
  assert.match(
    before,
    /not connected[\s\S]+Connect one[\s\S]+0 waiting, 0 taken by a runner or tried again later[\s\S]+data-budget="none">\$0\.00 this hour, no limit/,
  );
  assert.not.match(before, /<dt>Error/);
  const set = await p.send('PUT', `${p.tenant}/agents/${failing}/budget`, { body: { hourly_limit_usd: 0.5 } });
  assert.is(set.status, 200, set.text);
  const key = await createRunner(p, failing);
  const reserved = await p.send('POST', `${p.tenant}/agents/${failing}/budget/reserve`, { key, body: { amount_usd: 0.5 } });
  assert.is(reserved.status, 201, reserved.text);
  const { id } = await deliver(p, await createIntegration(p, failing, 'annals/failing'), 'push', {});
  const report = { attempt: 1, outcome: 'failed', code: 'HTTP_502', reason: 'The API answered <502>', seconds: 1 };
  assert.is((await p.send('POST', `${p.tenant}/deliveries/${id}/attempts`, { key, body: report })).status, 204);
  const { event_id } = p.eventsOf('WebhookAccepted').findLast((event) => event.id === id)!;
  const at = new Date().toISOString();
  const settled = {
    delivery_id: id,
    event_id,
    at,
    attempts: 1,
    published_at: at,
    reason: 'terminated',
    capture: { epoch: 'e', sequence: 1 },
  };
  const meta = { tenant: p.tenant_id, actor: { kind: 'system', id: 'acknowledgements' } as const, at, v: 1 };
  await p.log.append(`acknowledgement-${p.tenant_id}.${failing}`, 'none', [
    { id: crypto.randomUUID(), type: 'DeliveryDeadLettered', data: settled, meta },
  ]);
  await p.waitForProjections();
  const after = await now();
  assert.match(after, /data-budget="stopped"><meter [^>]*max="0\.5" value="0\.5"[^>]*aria-label="Budget: \$0\.50 of \$0\.50 this hour"/);
  assert.match(after, /\$0\.50 of \$0\.50 this hour, stopped until \d\d:00/);
  assert.match(
    after,
    new RegExp(`<dt>Error</dt>[\\s\\S]*/deliveries/${id}">The API answered &lt;502&gt;</a>[\\s\\S]*1 delivery given up in 24 h`),
  );
  const position = p.log.events.at(-1)!.position;
  assert.not.match(
    await now(`?as_of=${position.commit}:${position.prepare}`),
    /data-budget|<dt>Error/,
    'a page that shows the past has no present error',
  );
});

afterLastTest(() => p.close());

test.run();
