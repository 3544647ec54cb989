import * as Agent from '../../domain/agents/agent.ts';
import { jsonEqual } from '../../domain/aggregate.ts';
import { isId25 } from '../../domain/id.ts';
import { conflict, invalid } from '../../domain/refusal.ts';
import * as CronJob from '../../domain/schedule/cron-job.ts';
import * as CronRun from '../../domain/schedule/cron-run.ts';
import { nextOccurrence } from '../../domain/schedule/recurrence.ts';
import { assertHeaders, type Headers, splitSecrets, withPresentSecrets } from '../../domain/schedule/request-headers.ts';
import { secret } from '../../domain/secret.ts';
import { loadAgent } from '../agents/agent.ts';
import { checkOnce } from '../check-once.ts';
import type { Ctx, Input, Loaded } from '../context.ts';
import type { CronJobCreate, CronJobDraft, CronJobUpdate } from './cron-job-fields.ts';
import { headersLocation } from './secret-headers.ts';

type JobPath = 'tenant_id' | 'agent_id' | 'id';
type JobRef = { readonly agent_id: string; readonly id: string };

/** @throws Refusal not_found */
export const loadCronJob = async (ctx: Ctx, { agent_id, id }: JobRef): Promise<Loaded<CronJob.CronJob>> => {
  const loaded = await ctx.load(CronJob, id);
  CronJob.assertExists(loaded.state, agent_id);
  return loaded;
};

const findAgent = async (ctx: Ctx, idOrSlug: string): Promise<Loaded<Agent.Agent> | undefined> => {
  if (isId25(idOrSlug)) {
    const byId = await ctx.load(Agent, idOrSlug);
    if (byId.state.status === 'live') return byId;
  }
  for (let generation = 0; ; generation++) {
    const bySlug = await ctx.load(Agent, ctx.secrets.uniqueId('agent', idOrSlug, generation));
    if (bySlug.state.status === 'live') return bySlug;
    if (bySlug.state.status !== 'released') return undefined;
  }
};

const isTargetUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return /^https?:$/.test(protocol) && username === '' && password === '';
};

/**
 * Null if the target is not an agent. For another agent than the job's own, the caller must have the permission to assign work to it.
 * @throws Refusal invalid, forbidden
 */
const findTarget = async (
  ctx: Ctx,
  agent_id: string,
  { target_kind, target }: Pick<CronJob.JobFields, 'target_kind' | 'target'>,
): Promise<string | null> => {
  if (target_kind === 'external_url') {
    if (!isTargetUrl(target)) throw invalid('/target', 'must be an http or https URL without a user name and password');
    return null;
  }
  const found = await findAgent(ctx, target);
  if (found?.id === agent_id) return agent_id;
  if (!found || !(await ctx.may('agent:read', found.id))) throw invalid('/target', 'there is no such agent', 'unknown_agent');
  await ctx.require('agent:assign', found.id);
  return found.id;
};

/** Checks the fields of the draft as creating the job would. @throws Refusal not_found, invalid, forbidden */
export const assertDraft = async (
  ctx: Ctx,
  { agent_id, headers, target_kind, target }: Input<typeof CronJobDraft, 'agent_id'>,
): Promise<void> => {
  await loadAgent(ctx, agent_id);
  if (target_kind !== undefined && target !== undefined) await findTarget(ctx, agent_id, { target_kind, target });
  assertHeaders(headers);
};

type StoredHeaders = Pick<CronJob.TargetFields, 'headers' | 'sealed_headers'>;

/**
 * Masks secret values, and encrypts them separately. A masked value means the present one. Without a new secret value, the encrypted text
 * stays the same.
 * @throws Refusal invalid
 */
const storedHeaders = async (ctx: Ctx, id: string, headers: Headers, present: string | null): Promise<StoredHeaders> => {
  assertHeaders(headers);
  const location = headersLocation(ctx.tenant, id);
  const known = present === null ? {} : (JSON.parse((await ctx.secrets.open(location, present)).reveal()) as Headers);
  const { shown, secrets } = splitSecrets(headers);
  const wanted = withPresentSecrets(secrets, known);
  if (Object.keys(wanted).length === 0) return { headers: shown, sealed_headers: null };
  if (jsonEqual(wanted, known)) return { headers: shown, sealed_headers: present };
  return { headers: shown, sealed_headers: await ctx.secrets.seal(location, secret(JSON.stringify(wanted))) };
};

/** `checkLimit`: whether the plan allows one more. @throws Refusal not_found, invalid, forbidden, plan_limit */
export const createCronJob = async (
  ctx: Ctx,
  input: Input<typeof CronJobCreate, 'tenant_id' | 'agent_id'>,
  checkLimit: () => void,
): Promise<Loaded<CronJob.CronJob>> => {
  const { tenant_id: _, agent_id, headers, ...settings } = input;
  await loadAgent(ctx, agent_id);
  const target_agent_id = await ctx.sideEffect(() => findTarget(ctx, agent_id, settings));
  const id = ctx.newId();
  const fields = { ...settings, agent_id, target_agent_id, ...(await storedHeaders(ctx, id, headers, null)) };
  const create = CronJob.create(fields, ctx.at(), ctx.checks.parseCron);
  return ctx.transact(
    CronJob,
    id,
    (job) => {
      if (job.status === 'absent') checkLimit();
      return create(job);
    },
    { expectNew: true },
  );
};

/** @throws Refusal not_found, invalid, forbidden */
export const updateCronJob = async (ctx: Ctx, input: Input<typeof CronJobUpdate, JobPath>): Promise<Loaded<CronJob.CronJob>> => {
  const { tenant_id: _, agent_id, id, headers, ...changes } = input;
  const { state } = await loadCronJob(ctx, input);
  const { target } = changes;
  const { target_kind } = state;
  const found = target ? { target_agent_id: await ctx.sideEffect(() => findTarget(ctx, agent_id, { target_kind, target })) } : {};
  const stored = headers === undefined ? {} : await storedHeaders(ctx, id, headers ?? {}, state.sealed_headers);
  const context = { agent_id, at: ctx.at(), parseCron: ctx.checks.parseCron };
  return ctx.transact(CronJob, id, CronJob.update({ ...changes, ...found, ...stored }, context));
};

/** How many runs in a row can be skipped in advance. */
const MAX_SKIPPED = 1_000;

const isDecided = async (ctx: Ctx, { id }: CronJob.CronJob, dueAt: string): Promise<boolean> =>
  (await ctx.load(CronRun, CronRun.occurrenceId(id, dueAt))).state.decision !== 'undecided';

/** Finds the next runs that were skipped in advance: their number, and the due time of the last one; now if there are none. */
const skippedAhead = async (ctx: Ctx, job: CronJob.CronJob): Promise<{ readonly count: number; readonly until: string }> => {
  const recurrence = CronJob.recurrenceOf(job, job.scheduled_at, ctx.checks.parseCron);
  let until = ctx.at();
  let count = 0;
  for (let dueAt = nextOccurrence(recurrence, until); count < MAX_SKIPPED; dueAt = nextOccurrence(recurrence, until)) {
    if (dueAt === null || !(await isDecided(ctx, job, dueAt))) break;
    until = dueAt;
    count++;
  }
  return { count, until };
};

/** @throws Refusal conflict if it is a one-shot job that has fired or was skipped */
const assertNotEnded = (ctx: Ctx, job: CronJob.CronJob): Promise<null> =>
  checkOnce(ctx, async () => {
    if (job.fire_at !== null && (await isDecided(ctx, job, job.fire_at))) throw CronJob.notDue();
  });

/** @throws Refusal not_found, conflict if it has ended */
export const pauseCronJob = async (ctx: Ctx, ref: JobRef): Promise<Loaded<CronJob.CronJob>> => {
  await assertNotEnded(ctx, (await loadCronJob(ctx, ref)).state);
  return ctx.transact(CronJob, ref.id, CronJob.pause(ref.agent_id));
};

/** Due times during the pause, and those that were skipped, are left out. @throws Refusal not_found, conflict if it has ended */
export const resumeCronJob = async (ctx: Ctx, ref: JobRef): Promise<Loaded<CronJob.CronJob>> => {
  const { state } = await loadCronJob(ctx, ref);
  await assertNotEnded(ctx, state);
  const at = await ctx.sideEffect(async () => (await skippedAhead(ctx, state)).until);
  return ctx.transact(CronJob, ref.id, CronJob.resume({ agent_id: ref.agent_id, at, parseCron: ctx.checks.parseCron }));
};

/** @throws Refusal not_found */
export const deleteCronJob = (ctx: Ctx, { agent_id, id }: JobRef) => ctx.transact(CronJob, id, CronJob.remove(agent_id));

/** Checks that the job's agent and the agent that it calls are active. @throws Refusal conflict if one of them is inactive or deleted */
const assertActive = async (ctx: Ctx, job: CronJob.CronJob): Promise<void> => {
  const target = job.target_kind === 'internal_agent' ? CronJob.targetAgentOf(job) : job.agent_id;
  for (const id of new Set([job.agent_id, target])) {
    const { status, is_active } = (await ctx.load(Agent, id)).state;
    if (status !== 'live' || !is_active) throw conflict('', 'agent_inactive', 'The agent is inactive or deleted, so its jobs do not fire');
  }
};

/** The run is outside of the schedule; the job may be paused. @throws Refusal not_found, conflict if its agent is inactive */
export const runCronJobNow = async (ctx: Ctx, ref: JobRef): Promise<Loaded<CronJob.CronJob>> => {
  const loaded = await loadCronJob(ctx, ref);
  await checkOnce(ctx, () => assertActive(ctx, loaded.state));
  const run = await ctx.transact(CronRun, ctx.newId(), CronRun.requestRun(loaded.state, ctx.at()), {
    expectNew: true,
    ignoreExpectedRevision: true,
  });
  return { ...loaded, position: run.position };
};

/**
 * Skips the first occurrence after now that is not skipped yet. `next_fire_at`: when the job is due after that occurrence.
 * @throws Refusal not_found, conflict if the job has no due time any more, or MAX_SKIPPED runs are skipped
 */
export const skipCronOccurrence = async (ctx: Ctx, ref: JobRef): Promise<Loaded<CronJob.CronJob> & { next_fire_at: string | null }> => {
  const loaded = await loadCronJob(ctx, ref);
  const { state } = loaded;
  const recurrence = CronJob.recurrenceOf(state, state.scheduled_at, ctx.checks.parseCron);
  const dueAt = await ctx.sideEffect(async () => {
    if (state.status !== 'active') throw CronJob.notDue();
    const { count, until } = await skippedAhead(ctx, state);
    if (count === MAX_SKIPPED) throw conflict('', 'too_many_skipped', `The next ${MAX_SKIPPED} runs of the job are skipped already`);
    const next = nextOccurrence(recurrence, until);
    if (next === null) throw CronJob.notDue();
    return next;
  });
  const next_fire_at = nextOccurrence(recurrence, dueAt);
  const skip = CronRun.skip(state, dueAt, next_fire_at);
  const { position } = await ctx.transact(CronRun, CronRun.occurrenceId(state.id, dueAt), skip, { ignoreExpectedRevision: true });
  return { ...loaded, position, next_fire_at };
};
