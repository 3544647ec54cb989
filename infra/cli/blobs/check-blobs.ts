import { openBlobStore } from '../../blobs/open-blob-store.ts';
import { type BlobVerification, verifyBlobs } from '../../blobs/verify-blobs.ts';
import type { Config } from '../../config.ts';
import { examplesOf } from '../../logging/examples.ts';
import { printLine } from '../../logging/print-line.ts';
import { openVault } from '../../vault/vault.ts';
import { bytesText, filesText, placeOf, withPlatformLog } from './blob-access.ts';

type Output = { readonly json: boolean; readonly verbose: boolean };

/** Returns the exit code. */
export const printVerification = ({ read, bytes, findings }: BlobVerification, { json, verbose }: Output): number => {
  if (json) printLine(JSON.stringify({ ok: findings.length === 0, files: read, bytes, findings }));
  const lines = findings.map(
    ({ problem, tenant, sha256, event_id }) => `${problem}: ${sha256} of tenant ${tenant}, named by event ${event_id}`,
  );
  if (!json) for (const line of examplesOf(lines, verbose)) printLine(line);
  if (!json) printLine(`${filesText(read)} verified, ${bytesText(bytes)}; ${findings.length} missing or damaged`);
  return findings.length === 0 ? 0 : 1;
};

/** Returns the exit code: 1 if a file to which an event refers is missing or damaged. */
export const checkBlobs = async (config: Config, output: Output): Promise<number> => {
  const place = await placeOf(config);
  return withPlatformLog(config, async (log) => {
    const vault = await openVault({ log, masterKeyFile: config.masterKeyFile });
    return printVerification(await verifyBlobs(openBlobStore(place, vault), log), output);
  });
};
