import { actionButton } from '../../console/action.ts';
import { agentParams, mayOf } from '../../console/agent-frame.ts';
import { emptyState } from '../../console/parts/empty-state.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { exact } from '../../console/parts/time.ts';
import { type Visit, withQuery } from '../../console/visit.ts';

const { a, h1, p } = tags;

const NOT_RESTORED =
  'What never comes back: the deliveries and cron runs that were due meanwhile, the credentials of the tenant that it had, and the connections of its runners, which sign in again with their keys.';

/**
 * Returns the page of a deleted agent, with a button that restores it. Null if the agent is not deleted, or if the
 * visitor may not see it. What a visitor was allowed to do just before the deletion decides whether the button is shown.
 */
export const deletedAgent = async (visit: Visit): Promise<{ title: string; content: Child[] } | null> => {
  const { ask, rows } = visit;
  const path = agentParams(visit);
  const history = await ask(rows.readAgentHistory, path);
  const entries = history.ok ? history.value : [];
  const at = entries.findIndex(({ changes }) => changes.some(({ pointer, to }) => pointer === '/deleted' && to === true));
  const [deletion, before] = [entries[at], entries[at + 1]];
  if (!deletion || !before) return null;
  const then = { ...path, as_of: before.position };
  const [agent, may] = await Promise.all([ask(rows.getAgent, then), ask(rows.readEffectivePermissions, then)]);
  if (!agent.ok) return null;
  const { name } = agent.value;
  const isFinal = entries.slice(0, at).some(({ type }) => type === 'AgentSlugReleased');
  const restore =
    !isFinal && mayOf(may)('agent:delete')
      ? actionButton(visit, rows.restoreAgent, path, 'Restore', { icon: 'rotate-ccw', look: 'primary', returnTo: visit.path })
      : null;
  return {
    title: name,
    content: [
      h1(null, name),
      emptyState(
        {
          icon: 'trash-2',
          title: 'This agent is deleted',
          why: isFinal
            ? 'It gets no deliveries. Another agent has its slug now, so it can no longer be restored.'
            : 'It gets no deliveries. It can be restored with its settings, until another agent gets its slug.',
        },
        p({ class: 'quiet' }, 'Deleted ', exact(deletion.at)),
        isFinal ? null : p({ class: 'quiet', 'data-lost': '' }, NOT_RESTORED),
        restore,
        a({ class: 'button', href: withQuery(visit, { as_of: before.position }) }, 'As it was before'),
      ),
    ],
  };
};
