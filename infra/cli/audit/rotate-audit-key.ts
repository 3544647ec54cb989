import { rotateSigningKey } from '../../audit/signing-key.ts';
import type { Config } from '../../config.ts';
import { printLine } from '../../logging/print-line.ts';
import { withOperatorVault } from '../operator-context.ts';

/**
 * The key pair signs the heads (signed hashes) of the audit logs. Returns the exit code.
 * @throws Error with a one-line message for the operator
 */
export const rotateAuditKey = (config: Config): Promise<number> =>
  withOperatorVault(config, async ({ log, vault }) => {
    const { before, after } = await rotateSigningKey({ log, vault, actor: { kind: 'system', id: 'annals audit rotate-key' } });
    printLine(`heads are signed with the key ${after} from now on`);
    if (before) printLine(`the key ${before} has signed it; the heads that it signed stay valid`);
    return 0;
  });
