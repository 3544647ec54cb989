import { serveTasks } from '../threads/serve-tasks.ts';
import { checkSender, type Envelope } from './check-sender.ts';

export type SenderTask = { readonly raw: ArrayBuffer; readonly envelope: Envelope };

serveTasks(async ({ raw, envelope }: SenderTask) => ({ output: await checkSender(new Uint8Array(raw), envelope) }));
