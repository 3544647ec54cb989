import type { Rows } from '../../areas.ts';
import { formLink } from '../../console/action.ts';
import { historyLink } from '../../console/history-link.ts';
import { page } from '../../console/page.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { panel } from '../../console/parts/problem-panel.ts';
import { rowMenu } from '../../console/parts/row-menu.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, exact } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { ReplyOf } from '../../http/ask.ts';
import { agentsCard, askAgents } from './agents-with.ts';
import { SOURCES } from './skill-list.ts';

const { aside, div, pre } = tags;

type Skill = ReplyOf<Rows['getSkill']>;

const given = ({ params }: Visit) => ({ skill_id: params.skill_id! });

const factsOf = ({ id, slug, version, visibility, source, is_exposed, created_at, updated_at }: Skill): Child =>
  facts({
    Version: String(version),
    'Visible to': visibility === 'public' ? 'all members' : 'administrators',
    Source: SOURCES[source],
    'Called from outside': is_exposed ? 'yes, it has a webhook' : null,
    Slug: slug,
    Created: exact(created_at),
    Changed: ago(updated_at),
    Id: shortId(id, 'the id of the skill'),
  });

/** The page of a skill: what agents do with it, and which agents have it. */
export const skillPage = page({
  path: '/console/t/:tenant_id/skills/:skill_id',
  permit: 'tenant:read',
  nav: 'Skills and tools',
  categories: ['skill', 'agent'],
  asks: (visit) => ({
    skill: visit.ask(visit.rows.getSkill, { tenant_id: visit.params.tenant_id!, ...given(visit) }),
    ...askAgents(visit, given(visit)),
  }),
  title: ({ skill }) => (skill.ok ? skill.value.name : 'Skill'),
  trail: ({ params }) => [['Skills and tools', tenantPath(params.tenant_id!, '/skills')]],
  view: ({ skill, agents, counts }, visit) => [
    panel(skill, (value) => {
      const target = { tenant_id: visit.params.tenant_id!, ...given(visit) };
      return div(
        { 'data-kind': 'skill', 'data-id': value.id },
        heading(
          value.name,
          value.description,
          formLink(visit, visit.rows.updateSkill, target, 'Edit', { look: 'primary' }),
          historyLink(visit, value.id),
          rowMenu('menu-skill', value.name, [
            formLink(visit, visit.rows.deleteSkill, target, 'Delete', {
              look: 'danger',
              returnTo: tenantPath(target.tenant_id, '/skills'),
            }),
          ]),
        ),
        div(
          { class: 'detail' },
          div(
            { class: 'detail-main' },
            agentsCard(visit, { agents, counts }),
            card('Instructions', pre({ class: 'message-text' }, value.instructions)),
          ),
          aside({ class: 'detail-side', 'aria-label': 'Facts' }, card('Facts', factsOf(value))),
        ),
      );
    }),
  ],
});
