import { type FileToScan, findThreats, type Threats } from '../../commands/files/find-threats.ts';
import { unpackZip } from '../archives/unpack-zip.ts';
import { detectContentType } from '../blobs/detect-content-type.ts';
import { serveTasks } from '../threads/serve-tasks.ts';

serveTasks<FileToScan, Threats>(async (file) => ({ output: await findThreats({ unpack: unpackZip, detectContentType }, file) }));
