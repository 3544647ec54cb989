import type { DeadMessage, SentAgain } from '../../../commands/deliveries/redeliver.ts';
import type { LostSessionMessage } from '../../../commands/sessions/repeat-message.ts';
import { createExamplePrinter } from '../../logging/examples.ts';
import { printLine } from '../../logging/print-line.ts';

export type Resent = SentAgain | Error;

type Resendable = DeadMessage | LostSessionMessage;

type Outcome = { readonly name: 'sent' | 'skipped' | 'failed'; readonly kind: string; readonly line: string };

const outcomeOf = (message: Resendable, result: Resent, dryRun: boolean): Outcome => {
  const { tenant, agent_id } = message;
  const name = 'delivery_id' in message ? message.delivery_id : `session ${message.session_id}`;
  const what = `${name}  tenant ${tenant}  agent ${agent_id}`;
  if (result instanceof Error) return { name: 'failed', kind: `failed: ${result.message}`, line: `failed ${what}: ${result.message}` };
  if ('skipped' in result) return { name: 'skipped', kind: `skipped: ${result.skipped}`, line: `skipped ${what}: ${result.skipped}` };
  if (dryRun) return { name: 'sent', kind: 'would be sent', line: `would send ${what}` };
  return { name: 'sent', kind: 'sent', line: `sent ${what}  message ${result.message_id}` };
};

/** Shows a few examples of each outcome (all with `verbose`), and the counts at the end. */
export const createResendReport = ({ dryRun, verbose }: { readonly dryRun: boolean; readonly verbose: boolean }) => {
  const counts = { sent: 0, skipped: 0, failed: 0 };
  const examples = createExamplePrinter(verbose);
  return {
    add: (message: Resendable, result: Resent): void => {
      const { name, kind, line } = outcomeOf(message, result, dryRun);
      counts[name]++;
      examples.print(kind, line);
    },
    /** Returns the exit code: 1 if a message could not be sent. */
    end: (): number => {
      const { sent, skipped, failed } = counts;
      examples.end();
      printLine(`${sent} ${dryRun ? 'would be sent' : 'sent'}, ${skipped} skipped${failed > 0 ? `, ${failed} failed` : ''}`);
      return failed > 0 ? 1 : 0;
    },
  };
};
