import { isAnswered, type Sent } from './load.ts';

/** A delivery's event as it stands in the log. */
export type Logged = {
  readonly event_id: string;
  readonly type: string;
  /** The id of the delivery's resource and stream. */
  readonly id: string;
  readonly agent: string;
  readonly hook: string;
  readonly delivery: string;
  readonly body: string;
};

export type Row = { readonly id: string; readonly integration_id: string; readonly provider_delivery_id: string; readonly outcome: string };

/** What is found everywhere after everything has come to rest. */
export type Observed = {
  readonly sent: readonly Sent[];
  /** In the log's order. */
  readonly log: readonly Logged[];
  readonly rows: readonly Row[];
  /** Event ids in the order of the broker's stream. */
  readonly messages: readonly string[];
  /** Event ids by agent, in the order in which its runner's command had their effect. */
  readonly effects: ReadonlyMap<string, readonly string[]>;
  /** Event ids as runners gave them to their commands, however often. */
  readonly given: readonly string[];
};

export type Findings = {
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  /** What nobody sent, or other than it was sent, or refused though it was right, or never answered. */
  readonly strange: readonly string[];
  readonly disordered: readonly string[];
};

const countsOf = (keys: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
};

type Comparison = { lost: string[]; doubled: string[]; strange: string[] };

/** What should be somewhere exactly once, and what is there. */
const compare = (where: string, expected: ReadonlySet<string>, found: readonly string[]): Comparison => {
  const counts = countsOf(found);
  return {
    lost: [...expected].filter((key) => !counts.has(key)).map((key) => `${key} is not ${where}`),
    doubled: [...counts].filter(([, count]) => count > 1).map(([key, count]) => `${key} is ${count} times ${where}`),
    strange: [...counts.keys()].filter((key) => !expected.has(key)).map((key) => `${key} should not be ${where}`),
  };
};

const keyOf = (hook: string, delivery: string): string => `${hook}/${delivery}`;
const keyOfSent = ({ hook, delivery }: Sent): string => keyOf(hook.id, delivery);

/** Deliveries against the log: an acknowledged one is there once; one that nobody acknowledged may be there, once. */
const inLog = ({ sent, log }: Observed): Comparison => {
  const found = log.filter(({ type }) => type === 'WebhookAccepted').map(({ hook, delivery }) => keyOf(hook, delivery));
  const acknowledged = new Set(sent.filter(isAnswered).map(keyOfSent));
  const posted = new Set(sent.map(keyOfSent));
  const { lost, doubled, strange } = compare('in the log', acknowledged, found);
  return { lost, doubled, strange: strange.filter((line) => !posted.has(line.split(' ', 1)[0]!)) };
};

/** What senders were told: one 202 at the most, one id, nothing refused, nothing left open. */
const toldIn = (one: Sent, recorded: ReadonlyMap<string, Logged>): Comparison => {
  const key = keyOfSent(one);
  const event = recorded.get(key);
  const accepted = one.answers.filter(({ kind }) => kind === 'accepted').length;
  const other = one.answers.filter(({ id }) => id !== null && id !== event?.id).length;
  const refused = one.answers.filter(({ kind }) => kind === 'refused');
  return {
    lost: [],
    doubled: accepted > 1 ? [`${key} was accepted ${accepted} times`] : [],
    strange: [
      ...(isAnswered(one) ? [] : [`${key} was never answered: ${one.answers.at(-1)?.says}`]),
      ...(other > 0 ? [`${key} was answered with another id than the log's`] : []),
      ...refused.map(({ says }) => `${key} was refused: ${says}`),
      ...(event && event.body !== one.body ? [`${key} has another body in the log`] : []),
    ],
  };
};

const inRows = ({ log, rows }: Observed): Comparison => {
  const { lost, doubled, strange } = compare(
    'in the view',
    new Set(log.map(({ id }) => id)),
    rows.map(({ id }) => id),
  );
  const events = new Map(log.map((event) => [event.id, event]));
  const differs = ({ id, integration_id, provider_delivery_id, outcome }: Row): boolean => {
    const event = events.get(id);
    return event !== undefined && (event.hook !== integration_id || event.delivery !== provider_delivery_id || outcome !== 'accepted');
  };
  return { lost, doubled, strange: [...strange, ...rows.filter(differs).map(({ id }) => `${id} differs in the view`)] };
};

const idsOf = (log: readonly Logged[], agent?: string): string[] =>
  log.filter((event) => agent === undefined || event.agent === agent).map(({ event_id }) => event_id);

const atRunners = ({ log, effects }: Observed): Comparison[] =>
  [...new Set([...log.map(({ agent }) => agent), ...effects.keys()])].map((agent) =>
    compare(`with the runner of ${agent}`, new Set(idsOf(log, agent)), effects.get(agent) ?? []),
  );

/** Those that come behind a later one. */
const late = (ids: readonly string[], place: ReadonlyMap<string, number>): string[] => {
  let furthest = -1;
  return ids.filter((id) => {
    const at = place.get(id) ?? -1;
    const isLate = at < furthest;
    furthest = Math.max(furthest, at);
    return isLate;
  });
};

/** Order: the stream's is the log's. A runner's is too, but for the one message that it may have lost each time it lost the broker. */
const disorder = ({ log, messages, effects }: Observed, cuts: number): string[] => {
  const place = new Map(log.map(({ event_id }, index) => [event_id, index]));
  const inStream = late(messages, place).map((id) => `${id} stands too late in the stream`);
  const withRunners = [...effects].flatMap(([agent, ids]) => {
    const found = late([...new Set(ids)], place);
    return found.length > cuts ? found.map((id) => `${id} came too late to the runner of ${agent}`) : [];
  });
  return [...inStream, ...withRunners];
};

/** A runner that is killed may have had no time to note what its command had done; otherwise nothing is given twice. */
const givenAgain = ({ given }: Observed, runnerKills: number): string[] => {
  const again = [...countsOf(given)].filter(([, count]) => count > 1);
  const times = given.length - new Set(given).size;
  return times > runnerKills ? again.map(([id, count]) => `${id} was given ${count} times to a command`) : [];
};

/** How often runners lost the broker, and how often they were killed themselves. */
export type Disturbed = { readonly cuts: number; readonly runnerKills: number };

/** Compares what was sent with what is in the log, in the views, in the broker and with the runners. */
export const check = (observed: Observed, { cuts, runnerKills }: Disturbed = { cuts: 0, runnerKills: 0 }): Findings => {
  const { sent, log, messages } = observed;
  const recorded = new Map(log.map((event) => [keyOf(event.hook, event.delivery), event]));
  const found = [
    inLog(observed),
    ...sent.map((one) => toldIn(one, recorded)),
    inRows(observed),
    compare('in the stream', new Set(idsOf(log)), messages),
    ...atRunners(observed),
  ];
  return {
    lost: found.flatMap(({ lost }) => lost),
    doubled: [...found.flatMap(({ doubled }) => doubled), ...givenAgain(observed, runnerKills)],
    strange: found.flatMap(({ strange }) => strange),
    disordered: disorder(observed, cuts + runnerKills),
  };
};

export const isClean = (findings: Findings): boolean => Object.values(findings).every((lines) => lines.length === 0);
