// Starts what a page needs.

import * as actions from "./actions.js";
import * as chat from "./chat.js";
import { dress, turnShadow } from "./dress.js";
import * as held from "./held.js";
import * as inbox from "./inbox.js";
import * as live from "./live.js";
import * as parts from "./parts.js";
import * as presence from "./presence.js";

dress(document);
turnShadow();
actions.start(live.lost);
chat.start(live.lost);
held.start();
inbox.start(live.lost);
live.start();
parts.start();
presence.start();
