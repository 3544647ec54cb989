import { withoutKeptReport } from '../../deliveries/kept-reports.ts';
import { counted } from './count-text.ts';
import { type Attempt, type DeliveryDetail, isPublished, type Message, messageWords } from './delivery-messages.ts';
import { failureText } from './failure-text.ts';
import { type Child, tags } from './tags.ts';
import { between, duration, zoned } from './time.ts';

const { caption, details, div, li, pre, span, summary, table, tbody, td, th, thead, time, tr, ul } = tags;

const OUTCOMES: Readonly<Record<Attempt['outcome'], string>> = {
  acknowledged: 'acknowledged',
  failed: '',
  expired: 'no answer from the runner',
  max_deliveries: 'given up',
  terminated: 'given up by the runner',
};

/** Says how an attempt ended and, if it failed, why. `isDropped`: its report may have been dropped. */
const resultOf = ({ outcome, report }: Attempt, isDropped: boolean): string => {
  if (outcome === 'acknowledged') return OUTCOMES.acknowledged;
  const why = report === null && isDropped ? 'report no longer kept' : report === null && outcome === 'expired' ? '' : failureText(report);
  return [OUTCOMES[outcome], why].filter((part) => part !== '').join(': ');
};

const clock = (at: string | null): Child =>
  at === null ? span({ class: 'quiet' }, '—') : time({ datetime: at, title: zoned(at) }, zoned(at, 'clock'));

const tookText = ({ report }: Attempt): Child => (report === null ? span({ class: 'quiet' }, '—') : duration(report.seconds * 1_000));

/** Renders the end of what a handler has written, folded. */
export const logTail = (text: string) => {
  const lines = text.trimEnd().split('\n').length;
  return details(
    null,
    summary(null, lines === 1 ? "Last line of the runner's log" : `Last ${lines} lines of the runner's log`),
    pre(null, text),
  );
};

/** How the table names other resources. */
export type MessageLinks = {
  /** Renders to which agent a message was sent; null if it is the agent of the delivery. */
  readonly agentText: (agent_id: string) => Child;
  readonly sessionText: (session_id: string) => Child;
  /** Whether the end of the log of an attempt is shown elsewhere on the page. */
  readonly isLogShown: (attempt: Attempt) => boolean;
};

type RowLinks = MessageLinks & { readonly dropped: ReadonlySet<Attempt> };

const rowOf = (attempt: Attempt, { isLogShown, dropped }: RowLinks) =>
  tr(
    { 'data-attempt': String(attempt.count), 'data-report': attempt.report?.outcome ?? null },
    td({ class: 'number' }, attempt.count),
    td(null, clock(attempt.at)),
    td(null, tookText(attempt)),
    td(
      { class: 'result' },
      resultOf(attempt, dropped.has(attempt)),
      attempt.report?.stderr_tail && !isLogShown(attempt) ? logTail(attempt.report.stderr_tail) : null,
    ),
  );

/** Renders attempts with the same result on one line, which opens. */
const foldedRow = (attempts: readonly Attempt[]) =>
  tr(
    { 'data-folded': String(attempts.length) },
    td(
      { colspan: 4, class: 'result' },
      details(
        null,
        summary(null, `${counted(attempts.length, 'earlier attempt')} with the same result`),
        ul(
          { class: 'quiet' },
          ...attempts.map((attempt) => li(null, `No. ${attempt.count}, `, clock(attempt.at), ', took ', tookText(attempt))),
        ),
      ),
    ),
  );

const failureKey = (attempt: Attempt): string =>
  JSON.stringify([attempt.report?.outcome ?? attempt.outcome, attempt.report?.code, attempt.report?.reason]);

/** Returns the rows of attempts, which are newest first. Neighbours with the same result follow the first of them folded. */
const rowsOf = (attempts: readonly Attempt[], links: RowLinks): readonly Child[] => {
  const rows: Child[] = [];
  for (let index = 0; index < attempts.length; ) {
    let end = index + 1;
    while (end < attempts.length && failureKey(attempts[end]!) === failureKey(attempts[index]!)) end++;
    rows.push(rowOf(attempts[index]!, links));
    if (end - index === 2) rows.push(rowOf(attempts[index + 1]!, links));
    if (end - index > 2) rows.push(foldedRow(attempts.slice(index + 1, end)));
    index = end;
  }
  return rows;
};

const publishedText = (message: Message): Child => {
  const { at, published_at } = message.step;
  if (published_at === null) return isPublished(message) ? 'published' : 'not published yet';
  return `published after ${duration(Math.max(0, between(at, published_at)))}`;
};

const bodyOf = (delivery: DeliveryDetail, message: Message, links: RowLinks) => {
  const { step, attempts, sessions } = message;
  const { agentText, sessionText } = links;
  const agent = agentText(step.agent_id);
  return tbody(
    { 'data-message': step.event_id },
    tr(
      null,
      th(
        { colspan: 4, scope: 'rowgroup' },
        span(null, messageWords(step, delivery), agent === null ? null : [' to ', agent], ', '),
        time({ datetime: step.at }, zoned(step.at)),
        span({ class: 'quiet' }, ', ', publishedText(message)),
        ...sessions.map(({ session_id }) => span({ class: 'quiet' }, ', ', sessionText(session_id!))),
      ),
    ),
    ...rowsOf(attempts.toReversed(), links),
    attempts.length === 0 ? tr(null, td({ colspan: 4, class: 'quiet result' }, 'No attempt has ended yet.')) : null,
  );
};

/** Renders the messages of a delivery and their attempts, newest first. */
export const attemptsTable = (delivery: DeliveryDetail, messages: readonly Message[], links: MessageLinks) =>
  div(
    { class: 'attempts-box' },
    table(
      { class: 'attempts' },
      caption({ class: 'hidden' }, 'Attempts'),
      thead(null, tr(null, ...['No.', 'At', 'Took', 'Result'].map((name) => th({ scope: 'col' }, name)))),
      ...messages.toReversed().map((message) => bodyOf(delivery, message, { ...links, dropped: withoutKeptReport(delivery.attempts) })),
    ),
  );
