import type { Finding } from '../../domain/files/file-scan.ts';
import { mismatchOf, nestedArchive, startsAsZip, threatsInBytes, threatsInName } from '../../domain/files/threats.ts';
import { Refusal } from '../../domain/refusal.ts';
import type { Unpack } from '../skills/archive.ts';
import type { DetectContentType } from './content-type.ts';

/** `contentType`: as the client has sent it. */
export type FileToScan = { readonly bytes: Uint8Array; readonly filename: string; readonly contentType: string | null };

export type Threats = { readonly content_type: string; readonly findings: readonly Finding[] };

type Ports = { readonly detectContentType: DetectContentType; readonly unpack: Unpack };

/** Unpacks in memory. An archive that breaks a rule is refused. */
const findingsInArchive = async ({ unpack, detectContentType }: Ports, bytes: Uint8Array): Promise<Finding[]> => {
  const found: Finding[] = [];
  const inspect = async (path: string, head: Uint8Array, tail: Uint8Array): Promise<void> => {
    const ofContent = head.length > 0 ? threatsInBytes(head, await detectContentType(head)) : [];
    found.push(...[...threatsInName(path, true), ...ofContent, ...nestedArchive(head, tail)].map((one) => ({ ...one, path })));
  };
  try {
    await unpack(bytes, { isKept: () => false, maxBytes: 0, inspect });
    return found;
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'invalid') throw error;
    return [...found, { code: error.extra.errors?.[0]?.code ?? 'damaged', verdict: 'refused', path: null, message: error.message }];
  }
};

/** Also checks the files of a zip archive. A hostile file can take long, so this runs in its own thread. */
export const findThreats = async (ports: Ports, { bytes, filename, contentType }: FileToScan): Promise<Threats> => {
  const content_type = await ports.detectContentType(bytes);
  const ofFile = [...threatsInName(filename, false), ...mismatchOf(contentType, content_type), ...threatsInBytes(bytes, content_type)];
  const inArchive = startsAsZip(bytes) ? await findingsInArchive(ports, bytes) : [];
  return { content_type, findings: [...ofFile.map((one) => ({ ...one, path: null })), ...inArchive] };
};
