import { isAnswered, type SentDelivery } from './load.ts';

/** A delivery's event, as read from the log. */
export type LoggedDelivery = {
  readonly event_id: string;
  readonly type: string;
  /** The id of the delivery's resource and stream. */
  readonly id: string;
  readonly agentId: string;
  readonly hookId: string;
  readonly deliveryId: string;
  readonly body: string;
};

export type DeliveryRow = {
  readonly id: string;
  readonly integration_id: string;
  readonly provider_delivery_id: string;
  readonly outcome: string;
};

/** The state of the senders, the log, the read model, the broker and the runners after all work is done. */
export type FinalState = {
  readonly sent: readonly SentDelivery[];
  /** The events of the deliveries, in log order. */
  readonly log: readonly LoggedDelivery[];
  readonly rows: readonly DeliveryRow[];
  /** Event ids in the order of the broker's stream. */
  readonly messages: readonly string[];
  /** Event ids by agent, in the order in which the command of the agent's runner took effect. */
  readonly effects: ReadonlyMap<string, readonly string[]>;
  /** The event id of each run of a runner's command. If a command ran twice for an event, its id occurs twice. */
  readonly commandRuns: readonly string[];
};

export type Findings = {
  readonly lost: readonly string[];
  readonly duplicated: readonly string[];
  /**
   * Deliveries that were never sent, differ from what was sent, were refused although valid, or were never answered.
   */
  readonly unexpected: readonly string[];
  readonly outOfOrder: readonly string[];
};

const countsOf = (keys: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
};

type Comparison = { lost: string[]; duplicated: string[]; unexpected: string[] };

/**
 * Compares the ids that should occur exactly once in a part of the system with the ids that were found there. `place`
 * names that part in the report.
 */
const compare = (place: string, expected: ReadonlySet<string>, found: readonly string[]): Comparison => {
  const counts = countsOf(found);
  return {
    lost: [...expected].filter((key) => !counts.has(key)).map((key) => `${key} is not ${place}`),
    duplicated: [...counts].filter(([, count]) => count > 1).map(([key, count]) => `${key} is ${count} times ${place}`),
    unexpected: [...counts.keys()].filter((key) => !expected.has(key)).map((key) => `${key} should not be ${place}`),
  };
};

const keyOf = (hookId: string, deliveryId: string): string => `${hookId}/${deliveryId}`;
const keyOfSent = ({ hook, deliveryId }: SentDelivery): string => keyOf(hook.id, deliveryId);

/** Checks that the log contains each acknowledged delivery once, and each unacknowledged one at most once. */
const checkLog = ({ sent, log }: FinalState): Comparison => {
  const found = log.filter(({ type }) => type === 'WebhookAccepted').map(({ hookId, deliveryId }) => keyOf(hookId, deliveryId));
  const acknowledged = new Set(sent.filter(isAnswered).map(keyOfSent));
  const sentKeys = new Set(sent.map(keyOfSent));
  const { lost, duplicated, unexpected } = compare('in the log', acknowledged, found);
  return { lost, duplicated, unexpected: unexpected.filter((line) => !sentKeys.has(line.split(' ', 1)[0]!)) };
};

/**
 * Checks the answers to one delivery: at most one 202, no refusal, an answer in the end, and in each the id from the
 * log.
 */
const checkAnswers = (delivery: SentDelivery, recorded: ReadonlyMap<string, LoggedDelivery>): Comparison => {
  const key = keyOfSent(delivery);
  const event = recorded.get(key);
  const accepted = delivery.answers.filter(({ kind }) => kind === 'accepted').length;
  const otherIds = delivery.answers.filter(({ id }) => id !== null && id !== event?.id).length;
  const refused = delivery.answers.filter(({ kind }) => kind === 'refused');
  return {
    lost: [],
    duplicated: accepted > 1 ? [`${key} was accepted ${accepted} times`] : [],
    unexpected: [
      ...(isAnswered(delivery) ? [] : [`${key} was never answered: ${delivery.answers.at(-1)?.detail}`]),
      ...(otherIds > 0 ? [`${key} was answered with another id than the log's`] : []),
      ...refused.map(({ detail }) => `${key} was refused: ${detail}`),
      ...(event && event.body !== delivery.body ? [`${key} has another body in the log`] : []),
    ],
  };
};

const checkRows = ({ log, rows }: FinalState): Comparison => {
  const { lost, duplicated, unexpected } = compare(
    'in the read model',
    new Set(log.map(({ id }) => id)),
    rows.map(({ id }) => id),
  );
  const events = new Map(log.map((event) => [event.id, event]));
  const differs = ({ id, integration_id, provider_delivery_id, outcome }: DeliveryRow): boolean => {
    const event = events.get(id);
    return event !== undefined && (event.hookId !== integration_id || event.deliveryId !== provider_delivery_id || outcome !== 'accepted');
  };
  return { lost, duplicated, unexpected: [...unexpected, ...rows.filter(differs).map(({ id }) => `${id} differs in the read model`)] };
};

const idsOf = (log: readonly LoggedDelivery[], agent?: string): string[] =>
  log.filter((event) => agent === undefined || event.agentId === agent).map(({ event_id }) => event_id);

const checkRunners = ({ log, effects }: FinalState): Comparison[] =>
  [...new Set([...log.map(({ agentId }) => agentId), ...effects.keys()])].map((agent) =>
    compare(`with the runner of ${agent}`, new Set(idsOf(log, agent)), effects.get(agent) ?? []),
  );

/** The ids that come after an id with a higher index. */
const lateIds = (ids: readonly string[], indexOf: ReadonlyMap<string, number>): string[] => {
  let furthest = -1;
  return ids.filter((id) => {
    const at = indexOf.get(id) ?? -1;
    const isLate = at < furthest;
    furthest = Math.max(furthest, at);
    return isLate;
  });
};

/**
 * Checks that the messages of the broker's stream, and the effects of each runner, are in log order. A runner may have
 * `maxLate` late messages: each loss of its connection to the broker can delay one.
 */
const checkOrder = ({ log, messages, effects }: FinalState, maxLate: number): string[] => {
  const indexOf = new Map(log.map(({ event_id }, index) => [event_id, index]));
  const inStream = lateIds(messages, indexOf).map((id) => `${id} comes too late in the stream`);
  const withRunners = [...effects].flatMap(([agent, ids]) => {
    const found = lateIds([...new Set(ids)], indexOf);
    return found.length > maxLate ? found.map((id) => `${id} reached the runner of ${agent} too late`) : [];
  });
  return [...inStream, ...withRunners];
};

/**
 * Checks that a command ran once per event. For each kill of a runner, one more run is allowed: the runner may have
 * been killed after its command had ended and before it had recorded that.
 */
const checkRuns = ({ commandRuns }: FinalState, runnerKills: number): string[] => {
  const repeated = [...countsOf(commandRuns)].filter(([, count]) => count > 1);
  const extraRuns = commandRuns.length - new Set(commandRuns).size;
  return extraRuns > runnerKills ? repeated.map(([id, count]) => `the command ran ${count} times for ${id}`) : [];
};

/** How often the broker and the runners were killed. */
export type KillCounts = { readonly brokerKills: number; readonly runnerKills: number };

/** Compares the sent deliveries with those that reached the log, the read model, the broker and the runners. */
export const check = (finalState: FinalState, { brokerKills, runnerKills }: KillCounts = { brokerKills: 0, runnerKills: 0 }): Findings => {
  const { sent, log, messages } = finalState;
  const recorded = new Map(log.map((event) => [keyOf(event.hookId, event.deliveryId), event]));
  const found = [
    checkLog(finalState),
    ...sent.map((delivery) => checkAnswers(delivery, recorded)),
    checkRows(finalState),
    compare('in the stream', new Set(idsOf(log)), messages),
    ...checkRunners(finalState),
  ];
  return {
    lost: found.flatMap(({ lost }) => lost),
    duplicated: [...found.flatMap(({ duplicated }) => duplicated), ...checkRuns(finalState, runnerKills)],
    unexpected: found.flatMap(({ unexpected }) => unexpected),
    outOfOrder: checkOrder(finalState, brokerKills + runnerKills),
  };
};

/**
 * Leaves out deliveries that were answered with 202 twice. That is allowed while the event store is down: a repeated
 * delivery can come while its first request is in the spool. It still has only one event.
 */
export const withoutRepeatedAnswers = (findings: Findings): Findings => ({
  ...findings,
  duplicated: findings.duplicated.filter((line) => !/ was accepted \d+ times$/.test(line)),
});

export const isClean = (findings: Findings): boolean => Object.values(findings).every((lines) => lines.length === 0);
