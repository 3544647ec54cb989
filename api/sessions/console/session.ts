import type { Rows } from '../../areas.ts';
import { actionButton } from '../../console/action.ts';
import { mayOf } from '../../console/agent-frame.ts';
import { askWhetherItAnswers, composeNotes } from '../../console/compose-notes.ts';
import { historyLink } from '../../console/history-link.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { counted, countText } from '../../console/parts/count-text.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { externalLinks, linksOf } from '../../console/parts/external-links.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { icon } from '../../console/parts/icon.ts';
import { cents } from '../../console/parts/money.ts';
import { nextCursor } from '../../console/parts/pager.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, between, duration, exact } from '../../console/parts/time.ts';
import { type MayOnAgent, mayReadDeliveries } from '../../console/permission.ts';
import { tenantPath, type Visit, withQuery } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { type Draft, draftView, mayReadDraft } from './chat-draft.ts';
import { composeForms, mayAct } from './chat-forms.ts';
import { fileLink, firstDay, type Models, markdownBudget, messageOf, type Shown } from './chat-message.ts';

const { a, aside, div, li, ol, p, pre, span, strong } = tags;

type Detail = ReplyOf<Rows['getTenantSession']>;
const OPEN = ['pending', 'running', 'waiting'];

type Around = { readonly latest: string | null; readonly earlier: string | null; readonly draft: Draft | null };

/** Renders the messages of one page. `latest` and `earlier` are the paths of the last page and of the one before, if any. */
const conversation = (detail: Detail, shown: Shown, { latest, earlier, draft }: Around) =>
  detail.messages.length === 0 && draft === null
    ? emptyState({ icon: 'message-square', title: 'No messages yet', why: 'The runner of the agent has appended none so far.' })
    : div(
        null,
        earlier === null
          ? null
          : div({ class: 'actions earlier' }, a({ class: 'button', href: earlier, rel: 'prev' }, icon('arrow-up'), 'Earlier messages')),
        firstDay(detail.messages[0], shown.visit.zone),
        ol(
          { class: 'messages', 'data-grows': '' },
          ...detail.messages.map((message, index) => messageOf(message, detail.messages[index - 1], detail, shown)),
          draft && draftView(draft),
        ),
        latest === null ? null : div({ class: 'actions' }, a({ class: 'button', href: latest }, icon('arrow-right'), 'Latest messages')),
      );

/** Visitors who may not read all of the tenant get no link to the past, because some pages would refuse them there. */
const agentFacts = ({ session }: Detail, { visit, models }: Shown, at: (rest: string) => string) =>
  facts({
    Agent: a({ href: at(`/agents/${session.agent_id}`) }, session.agent_name ?? 'Open the agent'),
    Revision: visit.may('tenant:audit:read')
      ? a(
          {
            href: at(`/agents/${session.agent_id}?as_of=${encodeURIComponent(session.position)}`),
            'data-revision': session.agent_revision,
          },
          `${session.agent_revision}, as it was then`,
        )
      : String(session.agent_revision),
    Models:
      session.model_ids.length === 0
        ? 'none'
        : ol({ class: 'model-chain' }, ...session.model_ids.map((id) => li(null, models.get(id) ?? shortId(id, 'the id of the model')))),
  });

const costFacts = ({ session, total_tokens, prompt_tokens, completion_tokens, total_cost_cents }: Detail) =>
  facts({
    Cost: strong(null, cents(total_cost_cents, total_tokens > 0)),
    Tokens: `${countText(total_tokens)}: ${countText(prompt_tokens)} in, ${countText(completion_tokens)} out`,
    Messages: countText(session.message_count),
  });

/** Links to the delivery that a session processes. Visitors who may not open it see its id. */
const deliveryLink = (id: string, visit: Visit, onAgent: MayOnAgent): Child =>
  mayReadDeliveries(visit, onAgent)
    ? a({ href: tenantPath(visit.params.tenant_id!, `/deliveries/${id}`) }, 'Open the delivery')
    : shortId(id, 'the id of the delivery');

type Origin = { readonly visit: Visit; readonly onAgent: MayOnAgent; readonly links: Child };

const originFacts = ({ session, user_email, user_name }: Detail, { visit, onAgent, links }: Origin) =>
  facts({
    Session: shortId(session.id),
    Delivery: session.delivery_id ? deliveryLink(session.delivery_id, visit, onAgent) : null,
    'Cron run': session.cron_occurrence_id ? shortId(session.cron_occurrence_id, 'the id of the occurrence') : null,
    User: user_email ? span(null, user_name ?? user_email) : null,
    Started: exact(session.started_at),
    Ended: session.completed_at ? exact(session.completed_at) : null,
    Took: session.completed_at ? duration(Math.max(0, between(session.started_at, session.completed_at))) : null,
    Expires: OPEN.includes(session.status) ? exact(session.expires_at) : null,
    Continues: session.continues_id
      ? a({ href: tenantPath(visit.params.tenant_id!, `/sessions/${session.continues_id}`) }, 'an earlier session')
      : null,
    'See also': links,
  });

const filesCard = ({ attachments }: Detail, shown: Shown) =>
  attachments.length === 0
    ? null
    : card(
        'Files',
        ol(
          { class: 'lines' },
          ...attachments.map((file) =>
            li(
              null,
              span(null, fileLink(file, shown), ' ', span({ class: 'quiet' }, file.content_type)),
              span({ class: 'quiet' }, `${counted(file.size_bytes, 'byte')} `, shortId(file.sha256, 'the digest')),
            ),
          ),
        ),
      );

/** Renders the buttons that interrupt or cancel a session. */
const steering = (visit: Visit, id: string): readonly Child[] => {
  const path = { tenant_id: visit.params.tenant_id!, session_id: id };
  return [
    actionButton(visit, visit.rows.interruptSession, path, 'Interrupt', { icon: 'pause' }),
    actionButton(visit, visit.rows.cancelSession, path, 'Cancel the session', {
      icon: 'ban',
      look: 'danger',
      confirm: 'The runner gets a request to stop. What it has done so far stays.',
    }),
  ];
};

const ending = ({ session: { summary, error } }: Detail): Child =>
  summary || error
    ? card(
        error ? 'Why it failed' : 'What it achieved',
        pre({ class: error ? 'message-text bad' : 'message-text' }, error ?? summary ?? ''),
      )
    : null;

/** Whether the page has a field for a message of the visitor. */
const isWritten = (visit: Visit, detail: Detail, onAgent: MayOnAgent): boolean =>
  mayAct(visit, onAgent) && detail.session.created_by_id !== null && OPEN.includes(detail.session.status);

/**
 * The page of a session: its conversation, the cost of each message, and the state of the agent when the session
 * started.
 */
export const sessionPage = page({
  path: '/console/t/:tenant_id/sessions/:session_id',
  permit: 'tenant:read',
  nav: 'Sessions',
  categories: ['session', 'acknowledgement', 'draft', 'agent', 'budget'],
  // Above the field for a message, the page says whether a runner is connected.
  polls: ({ presence }) => presence?.ok ?? false,
  asks: (visit: Visit) => {
    const { ask, rows, params, query } = visit;
    const tenant_id = params.tenant_id!;
    const cursor = query.get('cursor');
    const path = { tenant_id, session_id: params.session_id! };
    const asked = { ...path, order: 'newest', ...(cursor ? { cursor } : {}) } as const;
    const session = visit.may('tenant:audit:read') ? ask(rows.getTenantSession, asked) : ask(rows.getSession, asked);
    const access = session.then((found) =>
      found.ok ? ask(rows.readEffectivePermissions, { tenant_id, agent_id: found.value.session.agent_id }) : found,
    );
    return {
      session,
      tenant: ask(rows.readTenant, { tenant_id }),
      models: ask(rows.listModels, { tenant_id, limit: 200 }),
      access,
      ...askWhetherItAnswers(
        visit,
        Promise.all([session, access]).then(([found, may]) =>
          found.ok && isWritten(visit, found.value, mayOf(may as Parameters<typeof mayOf>[0])) ? found.value.session.agent_id : null,
        ),
      ),
      draft: Promise.all([session, access]).then(([found, may]) =>
        mayReadDraft(visit, found, mayOf(may as Parameters<typeof mayOf>[0])) ? ask(rows.getSessionDraft, path) : null,
      ),
    };
  },
  title: ({ session }) => (session.ok ? (session.value.session.title ?? 'Session') : 'Session'),
  trail: ({ params, may }) => (may('tenant:audit:read') ? [['Sessions', tenantPath(params.tenant_id!, '/sessions')]] : []),
  view: ({ session, tenant, models, access, agent, presence, hours, draft }, visit) => {
    if (!session.ok) return [heading('Session', null), problemPanel(session.problem)];
    const { value } = session;
    const { id, title, status, agent_name } = value.session;
    const at = (rest: string) => tenantPath(visit.params.tenant_id!, rest);
    const names: Models = new Map(models.ok ? models.value.map((model) => [model.id, model.slug]) : []);
    const next = nextCursor(session);
    const around: Around = {
      latest: visit.query.has('cursor') ? withQuery(visit, { cursor: null }) : null,
      earlier: next && withQuery(visit, { cursor: next }),
      draft: !visit.query.has('cursor') && draft?.ok && draft.value.content !== '' ? draft.value : null,
    };
    const onAgent = mayOf(access as Parameters<typeof mayOf>[0]);
    const { delivery_id } = value.session;
    const links = externalLinks(linksOf(tenant), { id, delivery_id, tenant_id: visit.params.tenant_id! });
    const shown: Shown = {
      ...{ visit, models: names, mayAct: mayAct(visit, onAgent), mayRead: onAgent('agent:chat:read') },
      markdown: markdownBudget(),
    };
    const isSteered = shown.mayAct && OPEN.includes(status);
    return [
      div(
        { 'data-kind': 'session', 'data-id': id, 'data-position': session.position },
        heading(
          span(null, title ?? 'Untitled session', ' ', badge(status)),
          span(null, `${agent_name ?? 'An agent'} · `, ago(value.session.started_at)),
          ...(isSteered ? steering(visit, id) : []),
          historyLink(visit, id),
        ),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            ending(value),
            card(
              'Conversation',
              conversation(value, shown, around),
              composeNotes({ agent, presence, hours }, { visit, agent_id: value.session.agent_id, onAgent }),
              shown.mayAct ? composeForms(visit, value) : null,
              div({ 'data-page-end': '' }),
            ),
            filesCard(value, shown),
          ),
          aside(
            { class: 'detail-side', 'aria-label': 'Facts' },
            card('Cost', costFacts(value)),
            card('Agent', agentFacts(value, shown, at)),
            card(
              'Origin',
              originFacts(value, { visit, onAgent, links }),
              delivery_id ? null : p({ class: 'quiet' }, 'It processes no delivery.'),
            ),
          ),
        ),
      ),
    ];
  },
});
