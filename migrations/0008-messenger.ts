// Chats of a messenger that are linked to accounts, and what it takes to speak with its servers.
import { Migration } from "@mikro-orm/migrations";
import { conversation } from "./0008/conversation.ts";
import { followUsers } from "./0008/follow-users.ts";
import { links } from "./0008/links.ts";

export class Messenger extends Migration {
  override up(): void {
    for (const part of [links, conversation, followUsers]) this.addSql(part);
  }
}
