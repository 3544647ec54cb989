import { setTimeout as sleep } from 'node:timers/promises';
import { isUnavailable } from '../../domain/refusal.ts';
import { answerInTime } from './answer-in-time.ts';
import { type RunnerAgent, type RunnerApi, retryTransient } from './api-client.ts';
import type { BudgetRefusal } from './budget-refusal.ts';

/** The minimum intervals between requests for the budget: with a limit, without one, and while it is used up. */
const LIMITED_INTERVAL_MS = 1_000;
const UNLIMITED_INTERVAL_MS = 30_000;
const HELD_INTERVAL_MS = 2_000;
/** If an earlier answer is known, an event waits at most this long for a new one, in milliseconds. */
const ANSWER_TIMEOUT_MS = 2_000;
const FIRST_ANSWER_TIMEOUT_MS = 15_000;

/** In US dollars. `hour` is its start by the clock of the service. The amounts are null without a limit. */
export type BudgetState = {
  readonly hour: string;
  readonly limit_usd: number | null;
  readonly left_usd: number | null;
  readonly refused: number;
  readonly refused_sessions: number;
};

type Gate = {
  readonly ask: (since: string | undefined) => Promise<BudgetState | null>;
  readonly report: (line: string) => void;
  known: BudgetState | null;
  /** `known` is too old from this time on (Unix milliseconds). */
  askAt: number;
  asking: Promise<BudgetState | null> | null;
  /** The budget at the last refusal. No event starts until more of it is left, or the hour ends. */
  refusedAt: BudgetState | null;
  isHolding: boolean;
};

const HOUR_MS = 3_600_000;
const endOf = ({ hour }: BudgetState): string => new Date(Date.parse(hour) + HOUR_MS).toISOString();

/** Returns whether no event may start. `refusedAt` is the budget at the last refusal. */
const isUsedUp = ({ hour, limit_usd, left_usd }: BudgetState, refusedAt: BudgetState | null): boolean => {
  if (limit_usd === null || left_usd === null) return false;
  if (left_usd <= 0) return true;
  return refusedAt !== null && hour === refusedAt.hour && limit_usd === refusedAt.limit_usd && left_usd <= (refusedAt.left_usd ?? 0);
};

/** While the service is unavailable, the last answer stays valid until its hour ends. @throws Refusal unavailable if there is none yet */
const refresh = async (gate: Gate): Promise<BudgetState | null> => {
  gate.askAt = Date.now() + LIMITED_INTERVAL_MS;
  try {
    gate.known = await gate.ask(gate.known?.hour);
  } catch (error) {
    if (isUnavailable(error) && gate.known === null) throw error;
    const isOver = gate.known !== null && Date.parse(endOf(gate.known)) <= Date.now();
    if (isOver || !isUnavailable(error)) gate.known = null;
    if (isUnavailable(error)) return gate.known;
  }
  const { known } = gate;
  gate.askAt = Date.now() + (known?.limit_usd == null ? UNLIMITED_INTERVAL_MS : LIMITED_INTERVAL_MS);
  return known;
};

const askNow = (gate: Gate): Promise<BudgetState | null> => {
  gate.asking ??= refresh(gate).finally(() => {
    gate.asking = null;
  });
  return gate.asking;
};

/** Returns the last known budget if the service does not answer soon, or `ending` is aborted. */
const latest = (gate: Gate, ending: AbortSignal): Promise<BudgetState | null> => {
  const ms = gate.known ? ANSWER_TIMEOUT_MS : FIRST_ANSWER_TIMEOUT_MS;
  return answerInTime(
    askNow(gate).catch(() => null),
    { ms, otherwise: () => gate.known, ending },
  );
};

/** Returns whether no event may start. `state` is null if the service has never answered: then the run itself is refused. */
const isClosed = (gate: Gate, state: BudgetState | null): boolean => {
  const isClosedNow = state !== null && isUsedUp(state, gate.refusedAt);
  if (!isClosedNow) gate.refusedAt = null;
  return isClosedNow;
};

const say = (gate: Gate, isHolding: boolean): void => {
  if (isHolding === gate.isHolding) return;
  gate.isHolding = isHolding;
  const until = gate.known ? ` until ${endOf(gate.known)}` : '';
  gate.report(
    isHolding
      ? `the hourly budget of the agent is used up: nothing is started${until}, unless the budget is raised`
      : 'the budget allows work again',
  );
};

/** Returns false if `ending` is aborted before the budget allows work. */
const untilOpen = async (gate: Gate, ending: AbortSignal, onWait?: () => void): Promise<boolean> => {
  for (;;) {
    const isAwaited = gate.known === null && gate.asking !== null;
    const isFresh = Date.now() < gate.askAt && !isAwaited;
    const state = isFresh ? gate.known : await latest(gate, ending);
    if (!isFresh && ending.aborted) return false;
    const isHeld = isClosed(gate, state);
    say(gate, isHeld);
    if (!isHeld) return true;
    if (ending.aborted) return false;
    onWait?.();
    await sleep(HELD_INTERVAL_MS, undefined, { signal: ending }).catch(() => {});
  }
};

/**
 * Whether the budget explains the refusal. False without a budget, or if all of it was left: the handler then needs more than the whole
 * budget. `before` is the hour in which the handler started.
 */
const isExplained = (state: BudgetState, refusal: BudgetRefusal, before: string | undefined): boolean => {
  const { isCertain, resets_at } = refusal;
  const { limit_usd, left_usd } = state;
  if (limit_usd === null || left_usd === null) return false;
  if (refusal.left_usd !== undefined && refusal.limit_usd !== undefined) return refusal.left_usd < refusal.limit_usd;
  if (isCertain && ((resets_at !== undefined && resets_at <= state.hour) || (before !== undefined && before < state.hour))) return true;
  if (left_usd >= limit_usd) return false;
  return isCertain || left_usd <= 0 || state.refused + state.refused_sessions > 0;
};

/** See `BudgetGate`. */
const noteRefusal = async (gate: Gate, refusal: BudgetRefusal, ending: AbortSignal): Promise<boolean> => {
  const before = gate.known?.hour;
  // The answer to an earlier request may be older than the refusal.
  await gate.asking?.catch(() => {});
  const state = await retryTransient(() => askNow(gate), ending).catch(() => null);
  if (state === null || !isExplained(state, refusal, before)) return false;
  const isOfThisHour = refusal.resets_at === undefined || refusal.resets_at > state.hour;
  const hasGrown = refusal.left_usd !== undefined && state.left_usd !== null && state.left_usd > refusal.left_usd;
  if (isOfThisHour && !hasGrown && (before === undefined || before === state.hour)) gate.refusedAt = state;
  return true;
};

/** Starts no work while the hourly budget of the agent is used up. */
export type BudgetGate = {
  /** Reports the start and the end of the wait once; calls `onWait` every few seconds. Returns false if `ending` is aborted first. */
  readonly untilOpen: (ending: AbortSignal, onWait?: () => void) => Promise<boolean>;
  /** Returns whether to keep the event until the budget allows it. */
  readonly noteRefusal: (refusal: BudgetRefusal, ending: AbortSignal) => Promise<boolean>;
};

type Options = { readonly api: Pick<RunnerApi, 'budget'>; readonly agent: RunnerAgent; readonly report: (line: string) => void };

/** Asks the service at most once a second; without a budget, every 30 seconds. */
export const createBudgetGate = ({ api, agent, report }: Options): BudgetGate => {
  const ask = (since: string | undefined): Promise<BudgetState | null> => api.budget(agent, since);
  const gate: Gate = { ask, report, known: null, askAt: 0, asking: null, refusedAt: null, isHolding: false };
  return {
    untilOpen: (ending, onWait) => untilOpen(gate, ending, onWait),
    noteRefusal: (refusal, ending) => noteRefusal(gate, refusal, ending),
  };
};
