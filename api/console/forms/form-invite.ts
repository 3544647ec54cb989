import type { Rows } from '../../areas.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';
import { type Child, tags } from '../parts/tags.ts';
import { mayRun } from '../permission.ts';
import type { Visit } from '../visit.ts';
import type { Submitted } from './form-body.ts';
import { moreFields } from './form-fields.ts';
import { valueWords } from './form-words.ts';

const { div, fieldset, input, label, legend, option, select, span } = tags;

type Member = ReplyOf<Rows['inviteMember']>;

const MAX_AGENTS = 200;
const ROLES = ['VIEWER', 'MANAGER', 'OWNER'] as const;

/** The names of the form fields for the steps after a member was added. */
const [LINK, AGENTS, ROLE] = ['_invitation', '_agents', '_agent_role'] as const;

/** Renders the agents on which a new member gets a role, and asks for an invitation link. Null for other forms. */
export const inviteFields = async (visit: Visit, operation: string): Promise<Child> => {
  const { ask, rows, params } = visit;
  const tenant_id = params.tenant_id;
  if (operation !== 'inviteMember' || !tenant_id || !(await mayRun(visit, rows.issueInvitation, params))) return null;
  const agents = visit.may('tenant:read') ? await ask(rows.listAgents, { tenant_id, limit: MAX_AGENTS }) : null;
  const names = agents?.ok ? agents.value : [];
  return [
    input({ type: 'hidden', name: LINK, value: '1' }),
    names.length === 0
      ? null
      : moreFields(
          'Agents of the member',
          false,
          fieldset(
            { class: 'field choices' },
            legend(null, 'Agents'),
            div(
              { class: 'choice-list' },
              ...names.map(({ id, name }) =>
                label({ class: 'choice' }, input({ type: 'checkbox', name: AGENTS, value: id }), span(null, name)),
              ),
            ),
          ),
          div(
            { class: 'field' },
            label({ for: 'f-agent-role' }, 'Role on these agents'),
            select({ id: 'f-agent-role', name: ROLE }, ...ROLES.map((one) => option({ value: one }, valueWords(one, 'role')))),
          ),
        ),
  ];
};

/** What followed after a member was added: the invitation, and the names of agents on which they got no role. */
export type Invited = { readonly invitation: Answer<ReplyOf<Rows['issueInvitation']>>; readonly refused: readonly string[] };

/**
 * Gives a new member roles on the chosen agents, and creates an invitation link. Null if the form did not ask for this.
 */
export const finishInvite = async (visit: Visit, member: Member, submitted: Submitted): Promise<Invited | null> => {
  if (!submitted.has(LINK)) return null;
  const { ask, rows, params } = visit;
  const at = { tenant_id: params.tenant_id!, user_id: member.user_id };
  const role = ROLES.find((one) => one === submitted.get(ROLE)) ?? 'VIEWER';
  const refused: string[] = [];
  for (const agent_id of submitted.getAll(AGENTS)) {
    const answer = await ask(rows.assignAgentRole, { ...at, agent_id, role });
    if (!answer.ok) refused.push(answer.problem.detail ?? answer.problem.title);
  }
  return { invitation: await ask(rows.issueInvitation, at, { headers: { 'idempotency-key': crypto.randomUUID() } }), refused };
};
