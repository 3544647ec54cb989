import { isAnswered, type SentDelivery } from './load.ts';

/** The event of a delivery as it was read from the log. */
export type LoggedDelivery = {
  readonly event_id: string;
  readonly type: string;
  /** The platform's id of the delivery, which is also in the name of its stream. `deliveryId` is the provider's id. */
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

/** The state of senders, log, read model, broker and runners after all work is done. */
export type FinalState = {
  readonly sent: readonly SentDelivery[];
  /** The events of the deliveries, in log order. */
  readonly log: readonly LoggedDelivery[];
  readonly rows: readonly DeliveryRow[];
  /** The event ids of the messages in the broker's stream, in stream order. */
  readonly messages: readonly string[];
  /**
   * Maps the id of an agent to the ids of the events for which the command of its runner took effect, in the order of
   * the effects.
   */
  readonly effects: ReadonlyMap<string, readonly string[]>;
  /**
   * The event ids of all runs of the runners' commands. If a command ran twice for an event, the list has the event's
   * id twice.
   */
  readonly commandRuns: readonly string[];
};

export type Findings = {
  readonly lost: readonly string[];
  readonly duplicated: readonly string[];
  /**
   * Messages about deliveries that were never sent, differ from what was sent, were refused although valid, or were
   * never answered.
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
 * Compares the ids that were found in a part of the system with the ids that should occur there exactly once. `place`
 * is the name of that part in the messages.
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

/**
 * Checks that the log contains each acknowledged delivery once, and no delivery that was never sent. An unanswered
 * delivery may be missing.
 */
const checkLog = ({ sent, log }: FinalState): Comparison => {
  const found = log.filter(({ type }) => type === 'WebhookAccepted').map(({ hookId, deliveryId }) => keyOf(hookId, deliveryId));
  const acknowledged = new Set(sent.filter(isAnswered).map(keyOfSent));
  const sentKeys = new Set(sent.map(keyOfSent));
  const { lost, duplicated, unexpected } = compare('in the log', acknowledged, found);
  return { lost, duplicated, unexpected: unexpected.filter((line) => !sentKeys.has(line.split(' ', 1)[0]!)) };
};

/**
 * Checks the answers to one delivery. There must be at least one answer, at most one with 202, and no refusal. Each
 * answer must contain the delivery's id in the log. The log must contain the body that was sent.
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

/** Returns the ids that come later in the list than an id with a higher index. */
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
 * Checks that the messages in the broker's stream and the effects of each runner are in log order. Each loss of a
 * runner's connection to the broker can delay one message, so up to `maxLate` late messages per runner are allowed.
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
 * Checks that the command ran once per event. For each kill of a runner, one more run is allowed: the runner may be
 * killed when its command has ended but this is not recorded yet.
 */
const checkRuns = ({ commandRuns }: FinalState, runnerKills: number): string[] => {
  const repeated = [...countsOf(commandRuns)].filter(([, count]) => count > 1);
  const extraRuns = commandRuns.length - new Set(commandRuns).size;
  return extraRuns > runnerKills ? repeated.map(([id, count]) => `the command ran ${count} times for ${id}`) : [];
};

/** The number of times that the broker and the runners were killed. */
export type KillCounts = { readonly brokerKills: number; readonly runnerKills: number };

/**
 * Compares the deliveries that were sent with those that reached the log, the read model, the broker and the runners.
 */
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
 * Removes the findings about deliveries that got 202 twice. While the event store is down, this is allowed: the
 * provider may repeat a delivery while the first request is still in the spool. The delivery still has only one event.
 */
export const withoutRepeatedAnswers = (findings: Findings): Findings => ({
  ...findings,
  duplicated: findings.duplicated.filter((line) => !/ was accepted \d+ times$/.test(line)),
});

export const isClean = (findings: Findings): boolean => Object.values(findings).every((lines) => lines.length === 0);
