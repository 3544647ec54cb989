import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SettledSessionMessage } from '../../domain/runners/acknowledgement.ts';
import { MAX_ASKED_MESSAGES } from '../../projections/sessions/settled-message.queries.ts';
import { bareEnvironment, type Program, root, startProgram } from '../fixtures/child-process.ts';
import { deadline } from '../fixtures/load-factor.ts';
import { seededRandom } from '../fixtures/seeded-random.ts';
import type { OutageReport } from './outage-trial.ts';
import { setAckWait } from './runner-faults.ts';
import { expectReply, type RunningPlatform } from './running-platform.ts';
import { effectsIn, wrongOrder, wrongRepeats } from './session-effects.ts';
import { type Agent, createAgent, createTenant } from './tenants.ts';

const PROGRAM = join(root, 'test', 'faults', 'session-runner.ts');
const CONCURRENT_WRITERS = 8;
/** The number of messages that the runner processes at the same time. */
const CONCURRENCY = 4;
const ACK_WAIT_MS = 2_000;
const PROGRESS_MS = ACK_WAIT_MS / 2;
const POLL_MS = 20;
/** The time in milliseconds in which the runner must reach the next kill, or the end. */
const STEP_TIMEOUT_MS = 120_000;

export type SessionKills = { readonly sessions: number; readonly messages: number; readonly kills: number; readonly seed: number };

const pathOf = ({ tenant }: Agent): string => `/tenant/${tenant.id}`;

/** Writes all messages of one session, one after another. The content of each is its number. */
const writeSession = async ({ call }: RunningPlatform, agent: Agent, messages: number): Promise<string> => {
  const post = (path: string, body: object) =>
    call('POST', `${pathOf(agent)}${path}`, body, { key: agent.tenant.key, headers: { 'idempotency-key': crypto.randomUUID() } });
  const { id } = await expectReply<{ id: string }>(post(`/agents/${agent.id}/sessions`, { message: { content: '0' } }));
  for (let number = 1; number < messages; number++)
    await expectReply(post(`/sessions/${id}/messages`, { role: 'user', content: String(number) }));
  return id;
};

const writeAll = async (platform: RunningPlatform, agent: Agent, { sessions, messages }: SessionKills): Promise<string[]> => {
  const written: string[] = [];
  let left = sessions;
  const work = async (): Promise<void> => {
    while (left-- > 0) written.push(await writeSession(platform, agent, messages));
  };
  await Promise.all(Array.from({ length: CONCURRENT_WRITERS }, work));
  return written;
};

/** Starts a runner whose effects `effectsIn` reads. */
export const startSessionRunner = async ({ url, stopOnClose }: RunningPlatform, { runnerKey }: Agent, home: string): Promise<Program> => {
  const limits = { CONCURRENCY: String(CONCURRENCY), PROGRESS_MS: String(PROGRESS_MS) };
  const program = startProgram(process.execPath, [PROGRAM], {
    cwd: home,
    env: { ...bareEnvironment(), ANNALS_URL: url, ANNALS_KEY: runnerKey, RUNNER_HOME: home, ...limits },
  });
  stopOnClose(program);
  await program.waitForOutput(/waiting for messages/);
  return program;
};

const untilEffects = async ({ child, output }: Program, home: string, count: number): Promise<void> => {
  for (const isOver = deadline(STEP_TIMEOUT_MS); effectsIn(home).length < count; await sleep(POLL_MS))
    if (isOver() || child.exitCode !== null) throw new Error(`only ${effectsIn(home).length} of ${count} effects: ${output()}`);
};

/**
 * Kills the runner whenever the number of effects reaches one of these numbers, and starts it again.
 * @returns the numbers of effects at the kills, and the last runner
 */
const killRunner = async (platform: RunningPlatform, agent: Agent, { home, at }: { home: string; at: readonly number[] }) => {
  const atKills: number[] = [];
  let program = await startSessionRunner(platform, agent, home);
  for (const count of at) {
    await untilEffects(program, home, count);
    await program.stop('SIGKILL');
    atKills.push(effectsIn(home).length);
    program = await startSessionRunner(platform, agent, home);
  }
  return { atKills, program };
};

/** What the log contains about the messages of a tenant: the ids of their events, and how each is settled. */
const readMessages = async (platform: RunningPlatform, tenant: string) => {
  const log = platform.openLog();
  const sent: string[] = [];
  const settled: SettledSessionMessage[] = [];
  for await (const { type, event_id, data, meta } of log.readAll()) {
    if (meta.tenant !== tenant) continue;
    if (type === 'SessionAssigned' || type === 'SessionMessageSent') sent.push(event_id);
    if (type === 'SessionMessagesSettled') settled.push(...(data as { messages: readonly SettledSessionMessage[] }).messages);
  }
  await log.close();
  return { sent, settled };
};

/** Returns the outcomes that the service tells runners. */
const askedOutcomes = async ({ call }: RunningPlatform, agent: Agent, ids: readonly string[]): Promise<string[]> => {
  const outcomes: string[] = [];
  for (let at = 0; at < ids.length; at += MAX_ASKED_MESSAGES) {
    const path = `${pathOf(agent)}/agents/${agent.id}/settled-messages?event_ids=${ids.slice(at, at + MAX_ASKED_MESSAGES).join(',')}`;
    const found = await expectReply<readonly { outcome: string }[]>(call('GET', path, undefined, { key: agent.runnerKey }), 200);
    outcomes.push(...found.map(({ outcome }) => outcome));
  }
  return outcomes;
};

const untilSettled = async (platform: RunningPlatform, agent: Agent, count: number): Promise<void> => {
  for (const isOver = deadline(STEP_TIMEOUT_MS); !isOver(); await sleep(1_000)) {
    const { settled } = await readMessages(platform, agent.tenant.id);
    if (settled.length >= count) return;
  }
};

/**
 * Persons write in sessions of an agent while its runner is killed at random moments. Each message must have its effect,
 * in the order of its session, and must be acknowledged once; only what was being processed at a kill may have its effect
 * once more.
 */
export const runSessionKills = async (platform: RunningPlatform, size: SessionKills): Promise<OutageReport> => {
  const { messages, sessions, kills, seed } = size;
  const agent = await createAgent(platform, await createTenant(platform), 'agent');
  const home = join(platform.dir, `runner-${agent.id}`);
  mkdirSync(home, { recursive: true });
  const total = sessions * messages;
  const random = seededRandom(seed);
  const at = Array.from({ length: kills }, () => 1 + Math.floor(random() * (total - 1))).sort((a, b) => a - b);
  const [written, { atKills, program }] = await Promise.all([
    writeAll(platform, agent, size),
    killRunner(platform, agent, { home, at }),
    setAckWait(platform, agent, ACK_WAIT_MS),
  ]);
  await untilSettled(platform, agent, total);
  await program.stop();
  const { sent, settled } = await readMessages(platform, agent.tenant.id);
  const [effects, outcomes] = [effectsIn(home), await askedOutcomes(platform, agent, sent)];
  const [known, withEffect] = [new Set(settled.map(({ event_id }) => event_id)), new Set(effects.map(({ event_id }) => event_id))];
  const dead = settled.filter(({ outcome }) => outcome !== 'acknowledged');
  return {
    findings: {
      lost: [
        ...sent.filter((id) => !withEffect.has(id)).map((id) => `message ${id} has no effect`),
        ...sent.filter((id) => !known.has(id)).map((id) => `message ${id} is not settled`),
        ...dead.map(({ event_id, outcome }) => `message ${event_id} was given up: ${outcome}`),
      ],
      duplicated: [
        ...wrongRepeats(effects, atKills, CONCURRENCY),
        ...(known.size === settled.length ? [] : [`${settled.length - known.size} messages are settled more than once`]),
      ],
      unexpected: [
        ...(sent.length === total && written.length === sessions ? [] : [`${sent.length} of ${total} messages are in the log`]),
        ...(outcomes.length === total && outcomes.every((outcome) => outcome === 'acknowledged')
          ? []
          : [`the service knows the outcome of ${outcomes.length} of ${total} messages`]),
      ],
      outOfOrder: wrongOrder(effects, messages),
    },
    figures: {
      sessions: written.length,
      'messages in the log': sent.length,
      'messages that are acknowledged': settled.length - dead.length,
      'kills of the runner': atKills.length,
      effects: effects.length,
      'effects that were repeated after a kill': effects.length - withEffect.size,
      'most attempts of a message': Math.max(...settled.map(({ attempts }) => attempts)),
    },
  };
};
