import type { Area, Needs } from '../area.ts';
import { mailAttachments } from './attachment.ts';
import { mailboxOperationsOf } from './mailbox.ts';
import { messageOperationsOf } from './message.ts';

export const mailArea = {
  title: 'Mail',
  description: 'Mailboxes of agents, and the mail that they exchange.',
  operations: ({ mail, readDelivery }: Needs<'mail' | 'readDelivery'>) => ({
    ...mailboxOperationsOf(mail),
    ...messageOperationsOf(mail, readDelivery),
  }),
  plainRoutes: [mailAttachments],
} satisfies Area;
