import { setTimeout as sleep } from 'node:timers/promises';
import { createTransport } from 'nodemailer';
import { freePort } from '../../infra/supervision/ports.ts';
import { startClientRunner } from './client-runner.ts';
import { ADMIN_KEY, expectReply, withPlatform } from './platform.ts';
import { createAgent } from './tenants.ts';

const CONCURRENCY = 8;
const MAX_TRIES = 200;
const RETRY_DELAY_MS = 200;
const DONE_TIMEOUT_MS = 120_000;

/**
 * The figures of a run. `answered`, `recorded` and `delivered` are numbers of messages: those that got 250, those in
 * the log, and those that the agent's runner processed. `runs` is the number of calls of the runner's handler, and
 * `kills` the number of kills.
 */
type Figures = {
  readonly answered: number;
  readonly recorded: number;
  readonly delivered: number;
  readonly runs: number;
  readonly kills: number;
};

/**
 * Sends messages with attachments by SMTP while the processes `serve` and `work` are killed in turn. Each message is
 * repeated until it gets 250. @returns figures, which must show each message once in the log and once at the agent's
 * runner
 */
export const runMailKills = async (messages: number, kills: number): Promise<Figures> => {
  const port = await freePort();
  let figures: Figures = { answered: 0, recorded: 0, delivered: 0, runs: 0, kills };
  await withPlatform(
    async (platform) => {
      const { id: tenant } = await platform.firstTenant();
      const agent = await createAgent(platform, { id: tenant, key: ADMIN_KEY }, 'agent');
      const runner = await startClientRunner(platform, agent);
      await expectReply(platform.call('PATCH', `/tenant/${tenant}`, { external_mail_enabled: true }), 200);
      await expectReply(platform.call('POST', '/admin/mail/heal', { service: 'external' }), 200);
      let next = 0;
      let answered = 0;
      const work = async (): Promise<void> => {
        while (next < messages) {
          const number = next++;
          const client = createTransport({ host: '127.0.0.1', port, ignoreTLS: true });
          const mail = {
            ...{ from: 'ada@example.com', to: 'agent.demo@mail.test', subject: `message ${number}`, text: 'Text' },
            ...{ messageId: `<${number}@example.com>`, date: new Date(0), attachments: [{ filename: 'a.txt', content: `file ${number}` }] },
            boundaryPrefix: `b${number}`,
          };
          for (let tries = 0; tries < MAX_TRIES; tries++) {
            const isAnswered = await client.sendMail(mail).then(
              () => true,
              () => false,
            );
            if (isAnswered) {
              answered++;
              break;
            }
            await sleep(RETRY_DELAY_MS);
          }
          client.close();
        }
      };
      const sending = Promise.all(Array.from({ length: CONCURRENCY }, work));
      for (let count = 0; count < kills; count++) {
        await sleep(1_000);
        await platform.kill(count % 2 === 0 ? 'serve' : 'work');
      }
      await sending;
      const log = platform.openLog();
      let received = new Set<string>();
      for (const end = Date.now() + DONE_TIMEOUT_MS; Date.now() < end; await sleep(1_000)) {
        received = new Set();
        for await (const { type, id } of log.readAll()) if (type === 'MailReceived') received.add(id);
        if (received.size >= answered && runner.effects().length >= answered) break;
      }
      await log.close();
      figures = { answered, recorded: received.size, delivered: runner.effects().length, runs: runner.commandRuns().length, kills };
      console.log(JSON.stringify(figures));
    },
    { MAIL_DOMAIN: 'mail.test', SMTP_LISTEN: String(port) },
  );
  return figures;
};

const [messages = '100', kills = '3'] = process.argv.slice(2);
const { answered, recorded, delivered } = await runMailKills(Number(messages), Number(kills));
process.exit(answered === Number(messages) && recorded === answered && delivered === answered ? 0 : 1);
