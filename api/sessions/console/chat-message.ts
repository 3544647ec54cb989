import type { Rows } from '../../areas.ts';
import { badge } from '../../console/parts/badge.ts';
import { countText } from '../../console/parts/count-text.ts';
import { dayLine, dayOf } from '../../console/parts/day-line.ts';
import { icon } from '../../console/parts/icon.ts';
import { type MarkdownRules, renderMarkdown } from '../../console/parts/markdown.ts';
import { cents } from '../../console/parts/money.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, lengthOf, type Node, tags } from '../../console/parts/tags.ts';
import { ago } from '../../console/parts/time.ts';
import type { Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { approvalView } from './chat-forms.ts';

const { a, div, li, p, pre, span, strong } = tags;

type Detail = ReplyOf<Rows['getTenantSession']>;
export type Message = Detail['messages'][number];
export type Models = ReadonlyMap<string, string>;

const ROLES: Readonly<Record<Message['role'], readonly [string, 'user' | 'bot' | 'cpu' | 'square-terminal']>> = {
  user: ['User', 'user'],
  assistant: ['Agent', 'bot'],
  system: ['System', 'cpu'],
  tool: ['Tool', 'square-terminal'],
};

const useOf = ({ model_id, prompt_tokens, completion_tokens, cost_cents }: Message, models: Models): Child => {
  const isUsed = prompt_tokens + completion_tokens > 0;
  if (!isUsed && model_id === null) return null;
  return div(
    { class: 'message-use quiet' },
    model_id ? span(null, icon('layers'), ' ', models.get(model_id) ?? shortId(model_id, 'the id of the model')) : null,
    span(null, `${countText(prompt_tokens)} in, ${countText(completion_tokens)} out`),
    span({ class: 'mono' }, cents(cost_cents, isUsed)),
  );
};

export type Shown = {
  readonly visit: Visit;
  readonly models: Models;
  readonly mayAct: boolean;
  readonly mayRead: boolean;
  readonly markdown: MarkdownBudget;
};

/** Returns the name of the person who wrote a message, if it is known; otherwise, the kind of the writer. */
const writerOf = ({ role, created_by_name, created_by_email }: Message): string => created_by_name ?? created_by_email ?? ROLES[role][0];

export const fileLink = ({ filename, sha256 }: Detail['attachments'][number], { visit, mayRead }: Shown): Child =>
  mayRead ? a({ href: `/tenant/${visit.params.tenant_id}/files/${sha256}`, download: filename }, filename) : filename;

const filesOf = ({ attachment_ids }: Message, { attachments }: Detail, shown: Shown): Child => {
  const found = attachments.filter(({ id }) => attachment_ids.includes(id));
  return found.length === 0 ? null : div({ class: 'message-use quiet' }, ...found.map((file) => span(null, fileLink(file, shown))));
};

/** Renders the runner's status of a message of a person, if it is known. */
const statusOf = ({ runner_status }: Message): Child => {
  if (runner_status === 'given_up') return badge('dead', 'given up');
  return runner_status === 'seen' ? span({ class: 'quiet', 'data-runner-status': runner_status }, 'seen by the agent') : null;
};

/** The maximum length of a text that is rendered as Markdown, and of all these texts on a page. Other texts are shown as they are. */
const MAX_MARKDOWN = 8 * 1024;
const MAX_MARKDOWN_OF_PAGE = 64 * 1024;
/** Texts that take more processor time than usual count for more. */
const CHARACTERS_PER_MICROSECOND = 1.024;
/** The limit for all messages of a process, in characters of HTML. Texts that are erased are forgotten after this time. */
const MAX_RENDERED = 4 * 1024 * 1024;
const RENDERED_TTL_MS = 10 * 60_000;

/** Only web pages and e-mail addresses are linked to. Pictures are links, so that nothing is fetched unasked. */
const RULES: MarkdownRules = {
  link: (url) => (/^(?:https?:\/\/|mailto:)/i.test(url) ? url : null),
  image: (url, alt) => (RULES.link(url) === null ? null : a({ href: url, rel: 'noopener noreferrer nofollow' }, alt || url)),
  headingId: () => null,
  topHeading: 3,
};

type Rendered = { readonly node: Node; readonly length: number; readonly until: number };

/** The rendered texts of messages, by their ids, the oldest first. A text never changes. */
const rendered = new Map<string, Rendered>();
let renderedLength = 0;

const forget = (id: string, { length }: Rendered): void => {
  rendered.delete(id);
  renderedLength -= length;
};

const remember = (id: string, node: Node): void => {
  const now = Date.now();
  const entry = { node, length: lengthOf(node), until: now + RENDERED_TTL_MS };
  rendered.set(id, entry);
  renderedLength += entry.length;
  for (const [oldest, old] of rendered) {
    if (renderedLength <= MAX_RENDERED && old.until > now) break;
    forget(oldest, old);
  }
};

/** How many characters of Markdown may still be rendered for a page. */
export type MarkdownBudget = { left: number };
export const markdownBudget = (): MarkdownBudget => ({ left: MAX_MARKDOWN_OF_PAGE });

/** Returns null if the text is too long, or the budget is used up. */
const markdownOf = (id: string, content: string, budget: MarkdownBudget): Node | null => {
  const known = rendered.get(id);
  if (known && known.until > Date.now()) return known.node;
  if (known) forget(id, known);
  if (content.length > Math.min(MAX_MARKDOWN, budget.left)) return null;
  const before = process.threadCpuUsage();
  const node = div({ class: 'message-text markdown' }, ...renderMarkdown(content, RULES));
  const { user, system } = process.threadCpuUsage(before);
  budget.left -= Math.max(content.length, (user + system) * CHARACTERS_PER_MICROSECOND);
  remember(id, node);
  return node;
};

/** Agents write Markdown. What people and tools write is shown as it is. */
const textOf = ({ id, role, content }: Message, budget: MarkdownBudget): Child => {
  if (content === null) return p({ class: 'quiet' }, 'The text can no longer be decrypted.');
  if (content === '') return null;
  return (role === 'assistant' && markdownOf(id, content, budget)) || pre({ class: 'message-text' }, content);
};

/**
 * Renders the day of the first message of a page, above the list. It is not part of the message: when the page is drawn
 * again, another message can be the first one.
 */
export const firstDay = (message: Message | undefined, zone: string): Child => message && dayLine(dayOf(message, zone));

/** Renders a message. `before` is the previous one on the page; the first message of another day names the day. */
export const messageOf = (message: Message, before: Message | undefined, detail: Detail, shown: Shown) => {
  const { visit, models } = shown;
  const symbol = ROLES[message.role][1];
  const day = dayOf(message, visit.zone);
  return li(
    { class: `message ${message.role}`, 'data-kind': 'message', 'data-id': message.id, id: `m-${message.id}` },
    before && dayOf(before, visit.zone) !== day ? dayLine(day) : null,
    div(
      { class: 'message-head' },
      span({ class: 'dot' }, icon(symbol)),
      strong(null, writerOf(message)),
      message.kind === 'waiting' ? badge('waiting', 'waits for an answer') : null,
      statusOf(message),
      span({ class: 'quiet' }, ago(message.created_at)),
    ),
    textOf(message, shown.markdown),
    message.approval ? approvalView(visit, message.approval, shown.mayAct) : null,
    filesOf(message, detail, shown),
    useOf(message, models),
  );
};
