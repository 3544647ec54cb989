import type { Rows } from '../../areas.ts';
import { actionButton } from '../../console/action.ts';
import { page } from '../../console/page.ts';
import { badge } from '../../console/parts/badge.ts';
import { countText } from '../../console/parts/count-text.ts';
import { card, facts } from '../../console/parts/facts.ts';
import { heading } from '../../console/parts/heading.ts';
import { problemPanel } from '../../console/parts/problem-panel.ts';
import { shortId } from '../../console/parts/short-id.ts';
import { type Child, tags } from '../../console/parts/tags.ts';
import { ago, between, duration } from '../../console/parts/time.ts';
import { tenantPath, type Visit } from '../../console/visit.ts';
import type { Answer, ReplyOf } from '../../http/ask.ts';

const { a, div, p, progress, span } = tags;

type Job = ReplyOf<Rows['getJob']>;

/** What the jobs of each kind do, what they count, and the page to which they belong. */
export const KINDS = {
  deliveries_replay: { title: 'Replay of deliveries', unit: 'deliveries', above: ['Deliveries', '/deliveries'] },
  memory_import: { title: 'Import into a memory', unit: 'entries', above: ['Agents', '/agents'] },
} as const;

/** Renders how many items of a job are done. */
const progressView = ({ kind, done, total }: Job): Child =>
  div(
    { class: 'overlap' },
    progress({ max: Math.max(1, total), value: total === 0 ? 1 : done, 'aria-label': 'Progress of the job' }),
    p(
      { class: 'quiet', 'data-done': String(done), 'data-total': String(total) },
      `${countText(done)} of ${countText(total)} ${KINDS[kind].unit}`,
    ),
  );

const targetOf = ({ kind, target_agent_id }: Job, visit: Visit, agent: Answer<{ readonly name: string }> | null): Child => {
  if (kind !== 'deliveries_replay') return null;
  if (target_agent_id === null) return 'the agent that first got each delivery';
  const href = tenantPath(visit.params.tenant_id!, `/agents/${target_agent_id}`);
  return a({ href }, agent?.ok ? agent.value.name : shortId(target_agent_id));
};

const factsOf = ({ id, per_second, created_at, finished_at }: Job, target: Child) =>
  facts({
    Job: shortId(id),
    Target: target,
    Speed: per_second === null ? null : `at most ${countText(per_second)} per second`,
    Requested: ago(created_at),
    Ended: finished_at === null ? 'not yet' : ago(finished_at),
    Took: finished_at === null ? null : duration(Math.max(0, between(created_at, finished_at))),
  });

const cancelButton = (visit: Visit, { id, status }: Job): Child =>
  status === 'running'
    ? actionButton(visit, visit.rows.cancelJob, { tenant_id: visit.params.tenant_id!, id }, 'Cancel the job', {
        icon: 'x',
        look: 'danger',
        returnTo: visit.path,
        confirm: 'What was sent or stored before stays. A replay ends after its present batch; an import ends without entries.',
      })
    : null;

/** The page of a job, such as a replay of deliveries: how far it is, and the button that cancels it. */
export const jobPage = page({
  path: '/console/t/:tenant_id/jobs/:tenant_job_id',
  permit: 'tenant:read',
  nav: 'Deliveries',
  categories: ['replay', 'memoryimport'],
  asks: ({ ask, rows, params }) => {
    const tenant_id = params.tenant_id!;
    const job = ask(rows.getJob, { tenant_id, id: params.tenant_job_id! });
    const target = job.then((found) => {
      const agent_id = found.ok ? found.value.target_agent_id : null;
      return agent_id === null ? null : ask(rows.getAgent, { tenant_id, agent_id });
    });
    return { job, target };
  },
  title: ({ job }) => (job.ok ? KINDS[job.value.kind].title : 'Job'),
  trail: ({ params }) => [['Jobs', tenantPath(params.tenant_id!, '/jobs')]],
  view: ({ job, target }, visit) => {
    if (!job.ok) return [heading('Job', null), problemPanel(job.problem)];
    const { value } = job;
    const { title, above } = KINDS[value.kind];
    return [
      div(
        { 'data-kind': 'job', 'data-id': value.id, 'data-position': job.position },
        heading(span(null, title, ' ', badge(value.status)), null, cancelButton(visit, value)),
        card(
          'Progress',
          progressView(value),
          value.error === null ? null : p({ role: 'status' }, value.error),
          factsOf(value, targetOf(value, visit, target)),
          div(
            { class: 'actions form-actions' },
            a({ class: 'button', href: tenantPath(visit.params.tenant_id!, above[1]) }, `To ${above[0].toLowerCase()}`),
          ),
        ),
      ),
    ];
  },
});
