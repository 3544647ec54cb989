import type { DeliveryReport } from '../../domain/mail/delivery-report.ts';
import * as Mail from '../../domain/mail/mail.ts';
import type { Ctx } from '../context.ts';
import { openContent, recipientsOf } from './message.ts';

/**
 * Records recipients who, as a mail server reports, did not get a message of this agent. Ignores other agents' messages, and addresses
 * that are not recipients.
 * @throws LogError
 */
export const recordReport = async (ctx: Ctx, agent_id: string, { message_id: id, failed }: DeliveryReport): Promise<void> => {
  const { state: mail } = await ctx.load(Mail, id);
  if (mail.status === 'absent' || mail.agent_id !== agent_id) return;
  const content = await openContent(ctx.secrets.open, { tenant: ctx.tenant, id }, mail.sealed_content);
  const addresses = recipientsOf(content).map((address) => address.toLowerCase());
  const bounces = failed.map(({ address, reason }) => ({ recipient: addresses.indexOf(address.toLowerCase()), reason }));
  await ctx.transact(Mail, id, Mail.recordReport(bounces));
};
