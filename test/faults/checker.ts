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

/** What the senders, the log, the read model, the broker and the runners hold once no work is left. */
export type FinalState = {
  readonly sent: readonly SentDelivery[];
  /** In the order of the log. */
  readonly log: readonly LoggedDelivery[];
  readonly rows: readonly DeliveryRow[];
  /** Event ids in the order of the broker's stream. */
  readonly messages: readonly string[];
  /** Event ids by agent, in the order in which the command of the agent's runner took effect. */
  readonly effects: ReadonlyMap<string, readonly string[]>;
  /** The event id of each run of a runner's command, with repetitions. */
  readonly commandRuns: readonly string[];
};

export type Findings = {
  readonly lost: readonly string[];
  readonly duplicated: readonly string[];
  /** Never sent, not equal to what was sent, refused although valid, or never answered. */
  readonly unexpected: readonly string[];
  readonly outOfOrder: readonly string[];
};

const countsOf = (keys: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
};

type Comparison = { lost: string[]; duplicated: string[]; unexpected: string[] };

/** Compares the keys that should be in a place exactly once with the keys found there. */
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

/** The log contains each acknowledged delivery once, and each unacknowledged one at most once. */
const checkLog = ({ sent, log }: FinalState): Comparison => {
  const found = log.filter(({ type }) => type === 'WebhookAccepted').map(({ hookId, deliveryId }) => keyOf(hookId, deliveryId));
  const acknowledged = new Set(sent.filter(isAnswered).map(keyOfSent));
  const sentKeys = new Set(sent.map(keyOfSent));
  const { lost, duplicated, unexpected } = compare('in the log', acknowledged, found);
  return { lost, duplicated, unexpected: unexpected.filter((line) => !sentKeys.has(line.split(' ', 1)[0]!)) };
};

/** The sender of a delivery got at most one 202, always the same id, no refusal, and an answer in the end. */
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

/** The ids that come after one with a higher index. */
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
 * The broker's stream has the order of the log. So has a runner, except that each disconnection from the broker may
 * delay one message.
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
 * A command runs once per event. Each kill of a runner may repeat one run: it had no time to record that its command
 * was done.
 */
const checkRuns = ({ commandRuns }: FinalState, runnerKills: number): string[] => {
  const repeated = [...countsOf(commandRuns)].filter(([, count]) => count > 1);
  const extraRuns = commandRuns.length - new Set(commandRuns).size;
  return extraRuns > runnerKills ? repeated.map(([id, count]) => `the command ran ${count} times for ${id}`) : [];
};

/** How often the broker and the runners were killed. */
export type KillCounts = { readonly brokerKills: number; readonly runnerKills: number };

/** Compares what was sent with what reached the log, the read model, the broker and the runners. */
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

export const isClean = (findings: Findings): boolean => Object.values(findings).every((lines) => lines.length === 0);
