import { openProjectionAdmin } from '../../infra/projector/projection-admin.ts';
import { createResources } from '../architecture/existing-resources.ts';
import { createCronJob, deliver, findDelivery, startConsole } from '../fixtures/console-platform.ts';
import { silentLogger } from '../fixtures/live-projections.ts';
import { signAuditHeads } from '../fixtures/sign-audit-heads.ts';
import { readModelDatabase } from '../fixtures/template-database.ts';
import { formUrls, type PageUrl, pageUrls } from './page-urls.ts';

/** Starts the platform with a resource of every kind, so that every page and every form of the console has content. */
export const startWholeConsole = async () => {
  const databaseUrl = await readModelDatabase();
  const admins: ReturnType<typeof openProjectionAdmin>[] = [];
  const p = await startConsole({
    createProjectionAdmin: (log) => {
      const admin = openProjectionAdmin(databaseUrl, log, silentLogger);
      admins.push(admin);
      return admin;
    },
  });
  const rebuild = (await p.send('POST', '/admin/projections/agents/rebuild')).body as { id: string };
  const of = await createResources(p);
  // Members see only public skills.
  await p.send('PATCH', `${p.tenant}/skills/${of.skill}`, { body: { visibility: 'public' } });
  const job = await createCronJob(p, of.agent);
  await deliver(p, of.hook, 'issues', { action: 'opened' }, { signature: 'sha256=forged' });
  const rejected = await findDelivery(p, 'rejected');
  await p.waitForProjections();
  await signAuditHeads(p, [p.tenant_id]);
  const params = {
    ...of.others,
    ...{ tenant_id: p.tenant_id, agent_id: of.agent, delivery_id: of.delivery, integration_id: of.hook, session_id: of.session },
    ...{ skill_id: of.skill, tool_id: of.tool },
    ...{
      job_id: job,
      user_id: of.user,
      tenant_job_id: of.replay,
      event_id: p.eventsOf('AgentCreated')[0]!.event_id,
      name: 'agents',
      rebuild: rebuild.id,
      id: p.tenant_id,
    },
  };
  /** Pages in a state that the plain URL of the page does not show. */
  const states: readonly PageUrl[] = Object.entries({
    'a rejected delivery': `${p.base}/deliveries/${rejected}`,
    'the month of the schedules': `${p.base}/schedules?view=month`,
    'an open audit entry': `${p.base}/audit?entry=${params.event_id}`,
    'agents in the past': `${p.base}/agents?as_of=back`,
    'an explained permission': `${p.base}/agents/${of.agent}/access?user_id=${of.user}`,
    'costs by agent': `${p.base}/costs?group_by=agent&agent_id=${of.agent}&limit_usd=0.5`,
    'results of a search': `${p.base}/find?q=a`,
    'a drift check': '/console/platform/drift?sample=1',
    'the zone': '/console/zone',
  }).map(([name, url]) => ({ name, url, permit: 'any' }));
  const close = async (): Promise<void> => {
    for (const admin of admins) await admin.close();
    await p.close();
  };
  return { p, of, params, pages: pageUrls(params), states, forms: formUrls(p, of), close };
};
