/*eslint-disable block-scoped-var, id-length, no-control-regex, no-magic-numbers, no-mixed-operators, no-prototype-builtins, no-redeclare, no-shadow, no-var, sort-vars, default-case, jsdoc/require-param*/
import $protobuf from "protobufjs/minimal.js";

const $Reader = $protobuf.Reader, $Writer = $protobuf.Writer, $util = $protobuf.util;
const $Object = $util.global.Object, $undefined = $util.global.undefined, $Error = $util.global.Error, $RangeError = $util.global.RangeError;

const $root = $protobuf.roots["opamp"] || ($protobuf.roots["opamp"] = {});

export const opamp = $root.opamp = (() => {

    const opamp = {};

    opamp.AgentToServer = (function() {

        const AgentToServer = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        AgentToServer.prototype.instanceUid = $util.newBuffer([]);
        AgentToServer.prototype.sequenceNum = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
        AgentToServer.prototype.agentDescription = null;
        AgentToServer.prototype.capabilities = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
        AgentToServer.prototype.health = null;
        AgentToServer.prototype.effectiveConfig = null;
        AgentToServer.prototype.remoteConfigStatus = null;
        AgentToServer.prototype.packageStatuses = null;
        AgentToServer.prototype.agentDisconnect = null;
        AgentToServer.prototype.flags = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
        AgentToServer.prototype.connectionSettingsRequest = null;
        AgentToServer.prototype.customCapabilities = null;
        AgentToServer.prototype.customMessage = null;
        AgentToServer.prototype.availableComponents = null;
        AgentToServer.prototype.connectionSettingsStatus = null;

        AgentToServer.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.instanceUid != null && $Object.hasOwnProperty.call(message, "instanceUid") && message.instanceUid.length)
                writer.uint32(10).bytes(message.instanceUid);
            if (message.sequenceNum != null && $Object.hasOwnProperty.call(message, "sequenceNum") && (typeof message.sequenceNum === "object" ? message.sequenceNum.low || message.sequenceNum.high : message.sequenceNum !== 0))
                writer.uint32(16).uint64(message.sequenceNum);
            if (message.agentDescription != null && $Object.hasOwnProperty.call(message, "agentDescription"))
                $root.opamp.AgentDescription.encode(message.agentDescription, writer.uint32(26).fork(), _depth + 1).ldelim();
            if (message.capabilities != null && $Object.hasOwnProperty.call(message, "capabilities") && (typeof message.capabilities === "object" ? message.capabilities.low || message.capabilities.high : message.capabilities !== 0))
                writer.uint32(32).uint64(message.capabilities);
            if (message.health != null && $Object.hasOwnProperty.call(message, "health"))
                $root.opamp.ComponentHealth.encode(message.health, writer.uint32(42).fork(), _depth + 1).ldelim();
            if (message.effectiveConfig != null && $Object.hasOwnProperty.call(message, "effectiveConfig"))
                $root.opamp.EffectiveConfig.encode(message.effectiveConfig, writer.uint32(50).fork(), _depth + 1).ldelim();
            if (message.remoteConfigStatus != null && $Object.hasOwnProperty.call(message, "remoteConfigStatus"))
                $root.opamp.RemoteConfigStatus.encode(message.remoteConfigStatus, writer.uint32(58).fork(), _depth + 1).ldelim();
            if (message.packageStatuses != null && $Object.hasOwnProperty.call(message, "packageStatuses"))
                $root.opamp.PackageStatuses.encode(message.packageStatuses, writer.uint32(66).fork(), _depth + 1).ldelim();
            if (message.agentDisconnect != null && $Object.hasOwnProperty.call(message, "agentDisconnect"))
                $root.opamp.AgentDisconnect.encode(message.agentDisconnect, writer.uint32(74).fork(), _depth + 1).ldelim();
            if (message.flags != null && $Object.hasOwnProperty.call(message, "flags") && (typeof message.flags === "object" ? message.flags.low || message.flags.high : message.flags !== 0))
                writer.uint32(80).uint64(message.flags);
            if (message.connectionSettingsRequest != null && $Object.hasOwnProperty.call(message, "connectionSettingsRequest"))
                $root.opamp.ConnectionSettingsRequest.encode(message.connectionSettingsRequest, writer.uint32(90).fork(), _depth + 1).ldelim();
            if (message.customCapabilities != null && $Object.hasOwnProperty.call(message, "customCapabilities"))
                $root.opamp.CustomCapabilities.encode(message.customCapabilities, writer.uint32(98).fork(), _depth + 1).ldelim();
            if (message.customMessage != null && $Object.hasOwnProperty.call(message, "customMessage"))
                $root.opamp.CustomMessage.encode(message.customMessage, writer.uint32(106).fork(), _depth + 1).ldelim();
            if (message.availableComponents != null && $Object.hasOwnProperty.call(message, "availableComponents"))
                $root.opamp.AvailableComponents.encode(message.availableComponents, writer.uint32(114).fork(), _depth + 1).ldelim();
            if (message.connectionSettingsStatus != null && $Object.hasOwnProperty.call(message, "connectionSettingsStatus"))
                $root.opamp.ConnectionSettingsStatus.encode(message.connectionSettingsStatus, writer.uint32(122).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        AgentToServer.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.AgentToServer();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.instanceUid = value;
                        else
                            delete message.instanceUid;
                        continue;
                    }
                case 2: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.sequenceNum = value;
                        else
                            delete message.sequenceNum;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        message.agentDescription = $root.opamp.AgentDescription.decode(reader, reader.size(), $undefined, _depth + 1, message.agentDescription);
                        continue;
                    }
                case 4: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.capabilities = value;
                        else
                            delete message.capabilities;
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        message.health = $root.opamp.ComponentHealth.decode(reader, reader.size(), $undefined, _depth + 1, message.health);
                        continue;
                    }
                case 6: {
                        if (wireType !== 2)
                            break;
                        message.effectiveConfig = $root.opamp.EffectiveConfig.decode(reader, reader.size(), $undefined, _depth + 1, message.effectiveConfig);
                        continue;
                    }
                case 7: {
                        if (wireType !== 2)
                            break;
                        message.remoteConfigStatus = $root.opamp.RemoteConfigStatus.decode(reader, reader.size(), $undefined, _depth + 1, message.remoteConfigStatus);
                        continue;
                    }
                case 8: {
                        if (wireType !== 2)
                            break;
                        message.packageStatuses = $root.opamp.PackageStatuses.decode(reader, reader.size(), $undefined, _depth + 1, message.packageStatuses);
                        continue;
                    }
                case 9: {
                        if (wireType !== 2)
                            break;
                        message.agentDisconnect = $root.opamp.AgentDisconnect.decode(reader, reader.size(), $undefined, _depth + 1, message.agentDisconnect);
                        continue;
                    }
                case 10: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.flags = value;
                        else
                            delete message.flags;
                        continue;
                    }
                case 11: {
                        if (wireType !== 2)
                            break;
                        message.connectionSettingsRequest = $root.opamp.ConnectionSettingsRequest.decode(reader, reader.size(), $undefined, _depth + 1, message.connectionSettingsRequest);
                        continue;
                    }
                case 12: {
                        if (wireType !== 2)
                            break;
                        message.customCapabilities = $root.opamp.CustomCapabilities.decode(reader, reader.size(), $undefined, _depth + 1, message.customCapabilities);
                        continue;
                    }
                case 13: {
                        if (wireType !== 2)
                            break;
                        message.customMessage = $root.opamp.CustomMessage.decode(reader, reader.size(), $undefined, _depth + 1, message.customMessage);
                        continue;
                    }
                case 14: {
                        if (wireType !== 2)
                            break;
                        message.availableComponents = $root.opamp.AvailableComponents.decode(reader, reader.size(), $undefined, _depth + 1, message.availableComponents);
                        continue;
                    }
                case 15: {
                        if (wireType !== 2)
                            break;
                        message.connectionSettingsStatus = $root.opamp.ConnectionSettingsStatus.decode(reader, reader.size(), $undefined, _depth + 1, message.connectionSettingsStatus);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return AgentToServer;
    })();

    opamp.AgentDescription = (function() {

        const AgentDescription = function (properties) {
            this.identifyingAttributes = [];
            this.nonIdentifyingAttributes = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        AgentDescription.prototype.identifyingAttributes = $util.emptyArray;
        AgentDescription.prototype.nonIdentifyingAttributes = $util.emptyArray;

        AgentDescription.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.identifyingAttributes != null && message.identifyingAttributes.length)
                for (let i = 0; i < message.identifyingAttributes.length; ++i)
                    $root.opamp.KeyValue.encode(message.identifyingAttributes[i], writer.uint32(10).fork(), _depth + 1).ldelim();
            if (message.nonIdentifyingAttributes != null && message.nonIdentifyingAttributes.length)
                for (let i = 0; i < message.nonIdentifyingAttributes.length; ++i)
                    $root.opamp.KeyValue.encode(message.nonIdentifyingAttributes[i], writer.uint32(18).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        AgentDescription.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.AgentDescription();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (!(message.identifyingAttributes && message.identifyingAttributes.length))
                            message.identifyingAttributes = [];
                        message.identifyingAttributes.push($root.opamp.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if (!(message.nonIdentifyingAttributes && message.nonIdentifyingAttributes.length))
                            message.nonIdentifyingAttributes = [];
                        message.nonIdentifyingAttributes.push($root.opamp.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return AgentDescription;
    })();

    opamp.ComponentHealth = (function() {

        const ComponentHealth = function (properties) {
            this.componentHealthMap = {};
            this.attributes = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ComponentHealth.prototype.healthy = false;
        ComponentHealth.prototype.startTimeUnixNano = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
        ComponentHealth.prototype.lastError = "";
        ComponentHealth.prototype.status = "";
        ComponentHealth.prototype.statusTimeUnixNano = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
        ComponentHealth.prototype.componentHealthMap = $util.emptyObject;
        ComponentHealth.prototype.attributes = $util.emptyArray;

        ComponentHealth.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.healthy != null && $Object.hasOwnProperty.call(message, "healthy") && message.healthy !== false)
                writer.uint32(8).bool(message.healthy);
            if (message.startTimeUnixNano != null && $Object.hasOwnProperty.call(message, "startTimeUnixNano") && (typeof message.startTimeUnixNano === "object" ? message.startTimeUnixNano.low || message.startTimeUnixNano.high : message.startTimeUnixNano !== 0))
                writer.uint32(17).fixed64(message.startTimeUnixNano);
            if (message.lastError != null && $Object.hasOwnProperty.call(message, "lastError") && message.lastError !== "")
                writer.uint32(26).string(message.lastError);
            if (message.status != null && $Object.hasOwnProperty.call(message, "status") && message.status !== "")
                writer.uint32(34).string(message.status);
            if (message.statusTimeUnixNano != null && $Object.hasOwnProperty.call(message, "statusTimeUnixNano") && (typeof message.statusTimeUnixNano === "object" ? message.statusTimeUnixNano.low || message.statusTimeUnixNano.high : message.statusTimeUnixNano !== 0))
                writer.uint32(41).fixed64(message.statusTimeUnixNano);
            if (message.componentHealthMap != null && $Object.hasOwnProperty.call(message, "componentHealthMap"))
                for (let keys = $Object.keys(message.componentHealthMap), i = 0; i < keys.length; ++i) {
                    writer.uint32(50).fork().uint32(10).string(keys[i]);
                    $root.opamp.ComponentHealth.encode(message.componentHealthMap[keys[i]], writer.uint32(18).fork(), _depth + 1).ldelim().ldelim();
                }
            if (message.attributes != null && message.attributes.length)
                for (let i = 0; i < message.attributes.length; ++i)
                    $root.opamp.KeyValue.encode(message.attributes[i], writer.uint32(58).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ComponentHealth.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, key, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ComponentHealth();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.bool())
                            message.healthy = value;
                        else
                            delete message.healthy;
                        continue;
                    }
                case 2: {
                        if (wireType !== 1)
                            break;
                        if (typeof (value = reader.fixed64()) === "object" ? value.low || value.high : value !== 0)
                            message.startTimeUnixNano = value;
                        else
                            delete message.startTimeUnixNano;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.lastError = value;
                        else
                            delete message.lastError;
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.status = value;
                        else
                            delete message.status;
                        continue;
                    }
                case 5: {
                        if (wireType !== 1)
                            break;
                        if (typeof (value = reader.fixed64()) === "object" ? value.low || value.high : value !== 0)
                            message.statusTimeUnixNano = value;
                        else
                            delete message.statusTimeUnixNano;
                        continue;
                    }
                case 6: {
                        if (wireType !== 2)
                            break;
                        if (message.componentHealthMap === $util.emptyObject)
                            message.componentHealthMap = {};
                        let end2 = reader.size() + reader.pos;
                        if (end2 > reader.len)
                            throw $RangeError("index out of range");
                        reader.len = end2;
                        key = "";
                        value = null;
                        while (reader.pos < end2) {
                            let tag2 = reader.tag();
                            wireType = tag2 & 7;
                            switch (tag2 >>>= 3) {
                            case 1:
                                if (wireType !== 2)
                                    break;
                                key = reader.stringVerify();
                                continue;
                            case 2:
                                if (wireType !== 2)
                                    break;
                                value = $root.opamp.ComponentHealth.decode(reader, reader.size(), $undefined, _depth + 1, value);
                                continue;
                            }
                            reader.skipType(wireType, _depth, tag2);
                        }
                        if (reader.pos !== end2)
                            throw $RangeError("index out of range");
                        reader.len = end;
                        if (key === "__proto__")
                            $util.makeProp(message.componentHealthMap, key);
                        message.componentHealthMap[key] = value || new $root.opamp.ComponentHealth();
                        continue;
                    }
                case 7: {
                        if (wireType !== 2)
                            break;
                        if (!(message.attributes && message.attributes.length))
                            message.attributes = [];
                        message.attributes.push($root.opamp.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ComponentHealth;
    })();

    opamp.EffectiveConfig = (function() {

        const EffectiveConfig = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        EffectiveConfig.prototype.configMap = null;

        EffectiveConfig.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.configMap != null && $Object.hasOwnProperty.call(message, "configMap"))
                $root.opamp.AgentConfigMap.encode(message.configMap, writer.uint32(10).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        EffectiveConfig.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.EffectiveConfig();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        message.configMap = $root.opamp.AgentConfigMap.decode(reader, reader.size(), $undefined, _depth + 1, message.configMap);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return EffectiveConfig;
    })();

    opamp.RemoteConfigStatus = (function() {

        const RemoteConfigStatus = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        RemoteConfigStatus.prototype.lastRemoteConfigHash = $util.newBuffer([]);
        RemoteConfigStatus.prototype.status = 0;
        RemoteConfigStatus.prototype.errorMessage = "";

        RemoteConfigStatus.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.lastRemoteConfigHash != null && $Object.hasOwnProperty.call(message, "lastRemoteConfigHash") && message.lastRemoteConfigHash.length)
                writer.uint32(10).bytes(message.lastRemoteConfigHash);
            if (message.status != null && $Object.hasOwnProperty.call(message, "status") && message.status !== 0)
                writer.uint32(16).int32(message.status);
            if (message.errorMessage != null && $Object.hasOwnProperty.call(message, "errorMessage") && message.errorMessage !== "")
                writer.uint32(26).string(message.errorMessage);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        RemoteConfigStatus.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.RemoteConfigStatus();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.lastRemoteConfigHash = value;
                        else
                            delete message.lastRemoteConfigHash;
                        continue;
                    }
                case 2: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.int32())
                            message.status = value;
                        else
                            delete message.status;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.errorMessage = value;
                        else
                            delete message.errorMessage;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return RemoteConfigStatus;
    })();

    opamp.RemoteConfigStatuses = (function() {
        const valuesById = $Object.create(null), values = $Object.create(valuesById);
        values[valuesById[0] = "RemoteConfigStatuses_UNSET"] = 0;
        values[valuesById[1] = "RemoteConfigStatuses_APPLIED"] = 1;
        values[valuesById[2] = "RemoteConfigStatuses_APPLYING"] = 2;
        values[valuesById[3] = "RemoteConfigStatuses_FAILED"] = 3;
        return values;
    })();

    opamp.PackageStatuses = (function() {

        const PackageStatuses = function (properties) {
            this.packages = {};
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        PackageStatuses.prototype.packages = $util.emptyObject;
        PackageStatuses.prototype.serverProvidedAllPackagesHash = $util.newBuffer([]);
        PackageStatuses.prototype.errorMessage = "";

        PackageStatuses.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.packages != null && $Object.hasOwnProperty.call(message, "packages"))
                for (let keys = $Object.keys(message.packages), i = 0; i < keys.length; ++i) {
                    writer.uint32(10).fork().uint32(10).string(keys[i]);
                    $root.opamp.PackageStatus.encode(message.packages[keys[i]], writer.uint32(18).fork(), _depth + 1).ldelim().ldelim();
                }
            if (message.serverProvidedAllPackagesHash != null && $Object.hasOwnProperty.call(message, "serverProvidedAllPackagesHash") && message.serverProvidedAllPackagesHash.length)
                writer.uint32(18).bytes(message.serverProvidedAllPackagesHash);
            if (message.errorMessage != null && $Object.hasOwnProperty.call(message, "errorMessage") && message.errorMessage !== "")
                writer.uint32(26).string(message.errorMessage);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        PackageStatuses.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, key, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.PackageStatuses();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (message.packages === $util.emptyObject)
                            message.packages = {};
                        let end2 = reader.size() + reader.pos;
                        if (end2 > reader.len)
                            throw $RangeError("index out of range");
                        reader.len = end2;
                        key = "";
                        value = null;
                        while (reader.pos < end2) {
                            let tag2 = reader.tag();
                            wireType = tag2 & 7;
                            switch (tag2 >>>= 3) {
                            case 1:
                                if (wireType !== 2)
                                    break;
                                key = reader.stringVerify();
                                continue;
                            case 2:
                                if (wireType !== 2)
                                    break;
                                value = $root.opamp.PackageStatus.decode(reader, reader.size(), $undefined, _depth + 1, value);
                                continue;
                            }
                            reader.skipType(wireType, _depth, tag2);
                        }
                        if (reader.pos !== end2)
                            throw $RangeError("index out of range");
                        reader.len = end;
                        if (key === "__proto__")
                            $util.makeProp(message.packages, key);
                        message.packages[key] = value || new $root.opamp.PackageStatus();
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.serverProvidedAllPackagesHash = value;
                        else
                            delete message.serverProvidedAllPackagesHash;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.errorMessage = value;
                        else
                            delete message.errorMessage;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return PackageStatuses;
    })();

    opamp.PackageStatus = (function() {

        const PackageStatus = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        PackageStatus.prototype.name = "";
        PackageStatus.prototype.agentHasVersion = "";
        PackageStatus.prototype.agentHasHash = $util.newBuffer([]);
        PackageStatus.prototype.serverOfferedVersion = "";
        PackageStatus.prototype.serverOfferedHash = $util.newBuffer([]);
        PackageStatus.prototype.status = 0;
        PackageStatus.prototype.errorMessage = "";
        PackageStatus.prototype.downloadDetails = null;

        PackageStatus.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.name != null && $Object.hasOwnProperty.call(message, "name") && message.name !== "")
                writer.uint32(10).string(message.name);
            if (message.agentHasVersion != null && $Object.hasOwnProperty.call(message, "agentHasVersion") && message.agentHasVersion !== "")
                writer.uint32(18).string(message.agentHasVersion);
            if (message.agentHasHash != null && $Object.hasOwnProperty.call(message, "agentHasHash") && message.agentHasHash.length)
                writer.uint32(26).bytes(message.agentHasHash);
            if (message.serverOfferedVersion != null && $Object.hasOwnProperty.call(message, "serverOfferedVersion") && message.serverOfferedVersion !== "")
                writer.uint32(34).string(message.serverOfferedVersion);
            if (message.serverOfferedHash != null && $Object.hasOwnProperty.call(message, "serverOfferedHash") && message.serverOfferedHash.length)
                writer.uint32(42).bytes(message.serverOfferedHash);
            if (message.status != null && $Object.hasOwnProperty.call(message, "status") && message.status !== 0)
                writer.uint32(48).int32(message.status);
            if (message.errorMessage != null && $Object.hasOwnProperty.call(message, "errorMessage") && message.errorMessage !== "")
                writer.uint32(58).string(message.errorMessage);
            if (message.downloadDetails != null && $Object.hasOwnProperty.call(message, "downloadDetails"))
                $root.opamp.PackageDownloadDetails.encode(message.downloadDetails, writer.uint32(66).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        PackageStatus.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.PackageStatus();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.name = value;
                        else
                            delete message.name;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.agentHasVersion = value;
                        else
                            delete message.agentHasVersion;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.agentHasHash = value;
                        else
                            delete message.agentHasHash;
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.serverOfferedVersion = value;
                        else
                            delete message.serverOfferedVersion;
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.serverOfferedHash = value;
                        else
                            delete message.serverOfferedHash;
                        continue;
                    }
                case 6: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.int32())
                            message.status = value;
                        else
                            delete message.status;
                        continue;
                    }
                case 7: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.errorMessage = value;
                        else
                            delete message.errorMessage;
                        continue;
                    }
                case 8: {
                        if (wireType !== 2)
                            break;
                        message.downloadDetails = $root.opamp.PackageDownloadDetails.decode(reader, reader.size(), $undefined, _depth + 1, message.downloadDetails);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return PackageStatus;
    })();

    opamp.PackageStatusEnum = (function() {
        const valuesById = $Object.create(null), values = $Object.create(valuesById);
        values[valuesById[0] = "PackageStatusEnum_Installed"] = 0;
        values[valuesById[1] = "PackageStatusEnum_InstallPending"] = 1;
        values[valuesById[2] = "PackageStatusEnum_Installing"] = 2;
        values[valuesById[3] = "PackageStatusEnum_InstallFailed"] = 3;
        values[valuesById[4] = "PackageStatusEnum_Downloading"] = 4;
        return values;
    })();

    opamp.PackageDownloadDetails = (function() {

        const PackageDownloadDetails = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        PackageDownloadDetails.prototype.downloadPercent = 0;
        PackageDownloadDetails.prototype.downloadBytesPerSecond = 0;

        PackageDownloadDetails.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.downloadPercent != null && $Object.hasOwnProperty.call(message, "downloadPercent") && !$Object.is(message.downloadPercent, 0))
                writer.uint32(9).double(message.downloadPercent);
            if (message.downloadBytesPerSecond != null && $Object.hasOwnProperty.call(message, "downloadBytesPerSecond") && !$Object.is(message.downloadBytesPerSecond, 0))
                writer.uint32(17).double(message.downloadBytesPerSecond);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        PackageDownloadDetails.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.PackageDownloadDetails();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 1)
                            break;
                        if (!$Object.is(value = reader.double(), 0))
                            message.downloadPercent = value;
                        else
                            delete message.downloadPercent;
                        continue;
                    }
                case 2: {
                        if (wireType !== 1)
                            break;
                        if (!$Object.is(value = reader.double(), 0))
                            message.downloadBytesPerSecond = value;
                        else
                            delete message.downloadBytesPerSecond;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return PackageDownloadDetails;
    })();

    opamp.AgentDisconnect = (function() {

        const AgentDisconnect = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        AgentDisconnect.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        AgentDisconnect.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.AgentDisconnect();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                reader.skipType(tag & 7, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return AgentDisconnect;
    })();

    opamp.ConnectionSettingsRequest = (function() {

        const ConnectionSettingsRequest = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ConnectionSettingsRequest.prototype.opamp = null;

        ConnectionSettingsRequest.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.opamp != null && $Object.hasOwnProperty.call(message, "opamp"))
                $root.opamp.OpAMPConnectionSettingsRequest.encode(message.opamp, writer.uint32(10).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ConnectionSettingsRequest.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ConnectionSettingsRequest();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        message.opamp = $root.opamp.OpAMPConnectionSettingsRequest.decode(reader, reader.size(), $undefined, _depth + 1, message.opamp);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ConnectionSettingsRequest;
    })();

    opamp.OpAMPConnectionSettingsRequest = (function() {

        const OpAMPConnectionSettingsRequest = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        OpAMPConnectionSettingsRequest.prototype.certificateRequest = null;

        OpAMPConnectionSettingsRequest.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.certificateRequest != null && $Object.hasOwnProperty.call(message, "certificateRequest"))
                $root.opamp.CertificateRequest.encode(message.certificateRequest, writer.uint32(10).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        OpAMPConnectionSettingsRequest.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.OpAMPConnectionSettingsRequest();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        message.certificateRequest = $root.opamp.CertificateRequest.decode(reader, reader.size(), $undefined, _depth + 1, message.certificateRequest);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return OpAMPConnectionSettingsRequest;
    })();

    opamp.CertificateRequest = (function() {

        const CertificateRequest = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        CertificateRequest.prototype.csr = $util.newBuffer([]);

        CertificateRequest.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.csr != null && $Object.hasOwnProperty.call(message, "csr") && message.csr.length)
                writer.uint32(10).bytes(message.csr);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        CertificateRequest.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.CertificateRequest();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.csr = value;
                        else
                            delete message.csr;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return CertificateRequest;
    })();

    opamp.AvailableComponents = (function() {

        const AvailableComponents = function (properties) {
            this.components = {};
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        AvailableComponents.prototype.components = $util.emptyObject;
        AvailableComponents.prototype.hash = $util.newBuffer([]);

        AvailableComponents.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.components != null && $Object.hasOwnProperty.call(message, "components"))
                for (let keys = $Object.keys(message.components), i = 0; i < keys.length; ++i) {
                    writer.uint32(10).fork().uint32(10).string(keys[i]);
                    $root.opamp.ComponentDetails.encode(message.components[keys[i]], writer.uint32(18).fork(), _depth + 1).ldelim().ldelim();
                }
            if (message.hash != null && $Object.hasOwnProperty.call(message, "hash") && message.hash.length)
                writer.uint32(18).bytes(message.hash);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        AvailableComponents.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, key, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.AvailableComponents();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (message.components === $util.emptyObject)
                            message.components = {};
                        let end2 = reader.size() + reader.pos;
                        if (end2 > reader.len)
                            throw $RangeError("index out of range");
                        reader.len = end2;
                        key = "";
                        value = null;
                        while (reader.pos < end2) {
                            let tag2 = reader.tag();
                            wireType = tag2 & 7;
                            switch (tag2 >>>= 3) {
                            case 1:
                                if (wireType !== 2)
                                    break;
                                key = reader.stringVerify();
                                continue;
                            case 2:
                                if (wireType !== 2)
                                    break;
                                value = $root.opamp.ComponentDetails.decode(reader, reader.size(), $undefined, _depth + 1, value);
                                continue;
                            }
                            reader.skipType(wireType, _depth, tag2);
                        }
                        if (reader.pos !== end2)
                            throw $RangeError("index out of range");
                        reader.len = end;
                        if (key === "__proto__")
                            $util.makeProp(message.components, key);
                        message.components[key] = value || new $root.opamp.ComponentDetails();
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.hash = value;
                        else
                            delete message.hash;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return AvailableComponents;
    })();

    opamp.ComponentDetails = (function() {

        const ComponentDetails = function (properties) {
            this.metadata = [];
            this.subComponentMap = {};
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ComponentDetails.prototype.metadata = $util.emptyArray;
        ComponentDetails.prototype.subComponentMap = $util.emptyObject;

        ComponentDetails.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.metadata != null && message.metadata.length)
                for (let i = 0; i < message.metadata.length; ++i)
                    $root.opamp.KeyValue.encode(message.metadata[i], writer.uint32(10).fork(), _depth + 1).ldelim();
            if (message.subComponentMap != null && $Object.hasOwnProperty.call(message, "subComponentMap"))
                for (let keys = $Object.keys(message.subComponentMap), i = 0; i < keys.length; ++i) {
                    writer.uint32(18).fork().uint32(10).string(keys[i]);
                    $root.opamp.ComponentDetails.encode(message.subComponentMap[keys[i]], writer.uint32(18).fork(), _depth + 1).ldelim().ldelim();
                }
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ComponentDetails.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, key, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ComponentDetails();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (!(message.metadata && message.metadata.length))
                            message.metadata = [];
                        message.metadata.push($root.opamp.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if (message.subComponentMap === $util.emptyObject)
                            message.subComponentMap = {};
                        let end2 = reader.size() + reader.pos;
                        if (end2 > reader.len)
                            throw $RangeError("index out of range");
                        reader.len = end2;
                        key = "";
                        value = null;
                        while (reader.pos < end2) {
                            let tag2 = reader.tag();
                            wireType = tag2 & 7;
                            switch (tag2 >>>= 3) {
                            case 1:
                                if (wireType !== 2)
                                    break;
                                key = reader.stringVerify();
                                continue;
                            case 2:
                                if (wireType !== 2)
                                    break;
                                value = $root.opamp.ComponentDetails.decode(reader, reader.size(), $undefined, _depth + 1, value);
                                continue;
                            }
                            reader.skipType(wireType, _depth, tag2);
                        }
                        if (reader.pos !== end2)
                            throw $RangeError("index out of range");
                        reader.len = end;
                        if (key === "__proto__")
                            $util.makeProp(message.subComponentMap, key);
                        message.subComponentMap[key] = value || new $root.opamp.ComponentDetails();
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ComponentDetails;
    })();

    opamp.ConnectionSettingsStatus = (function() {

        const ConnectionSettingsStatus = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ConnectionSettingsStatus.prototype.lastConnectionSettingsHash = $util.newBuffer([]);
        ConnectionSettingsStatus.prototype.status = 0;
        ConnectionSettingsStatus.prototype.errorMessage = "";

        ConnectionSettingsStatus.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.lastConnectionSettingsHash != null && $Object.hasOwnProperty.call(message, "lastConnectionSettingsHash") && message.lastConnectionSettingsHash.length)
                writer.uint32(10).bytes(message.lastConnectionSettingsHash);
            if (message.status != null && $Object.hasOwnProperty.call(message, "status") && message.status !== 0)
                writer.uint32(16).int32(message.status);
            if (message.errorMessage != null && $Object.hasOwnProperty.call(message, "errorMessage") && message.errorMessage !== "")
                writer.uint32(26).string(message.errorMessage);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ConnectionSettingsStatus.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ConnectionSettingsStatus();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.lastConnectionSettingsHash = value;
                        else
                            delete message.lastConnectionSettingsHash;
                        continue;
                    }
                case 2: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.int32())
                            message.status = value;
                        else
                            delete message.status;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.errorMessage = value;
                        else
                            delete message.errorMessage;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ConnectionSettingsStatus;
    })();

    opamp.ConnectionSettingsStatuses = (function() {
        const valuesById = $Object.create(null), values = $Object.create(valuesById);
        values[valuesById[0] = "ConnectionSettingsStatuses_UNSET"] = 0;
        values[valuesById[1] = "ConnectionSettingsStatuses_APPLIED"] = 1;
        values[valuesById[2] = "ConnectionSettingsStatuses_APPLYING"] = 2;
        values[valuesById[3] = "ConnectionSettingsStatuses_FAILED"] = 3;
        return values;
    })();

    opamp.ServerToAgent = (function() {

        const ServerToAgent = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ServerToAgent.prototype.instanceUid = $util.newBuffer([]);
        ServerToAgent.prototype.errorResponse = null;
        ServerToAgent.prototype.remoteConfig = null;
        ServerToAgent.prototype.connectionSettings = null;
        ServerToAgent.prototype.packagesAvailable = null;
        ServerToAgent.prototype.flags = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
        ServerToAgent.prototype.capabilities = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
        ServerToAgent.prototype.agentIdentification = null;
        ServerToAgent.prototype.command = null;
        ServerToAgent.prototype.customCapabilities = null;
        ServerToAgent.prototype.customMessage = null;

        ServerToAgent.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.instanceUid != null && $Object.hasOwnProperty.call(message, "instanceUid") && message.instanceUid.length)
                writer.uint32(10).bytes(message.instanceUid);
            if (message.errorResponse != null && $Object.hasOwnProperty.call(message, "errorResponse"))
                $root.opamp.ServerErrorResponse.encode(message.errorResponse, writer.uint32(18).fork(), _depth + 1).ldelim();
            if (message.remoteConfig != null && $Object.hasOwnProperty.call(message, "remoteConfig"))
                $root.opamp.AgentRemoteConfig.encode(message.remoteConfig, writer.uint32(26).fork(), _depth + 1).ldelim();
            if (message.connectionSettings != null && $Object.hasOwnProperty.call(message, "connectionSettings"))
                $root.opamp.ConnectionSettingsOffers.encode(message.connectionSettings, writer.uint32(34).fork(), _depth + 1).ldelim();
            if (message.packagesAvailable != null && $Object.hasOwnProperty.call(message, "packagesAvailable"))
                $root.opamp.PackagesAvailable.encode(message.packagesAvailable, writer.uint32(42).fork(), _depth + 1).ldelim();
            if (message.flags != null && $Object.hasOwnProperty.call(message, "flags") && (typeof message.flags === "object" ? message.flags.low || message.flags.high : message.flags !== 0))
                writer.uint32(48).uint64(message.flags);
            if (message.capabilities != null && $Object.hasOwnProperty.call(message, "capabilities") && (typeof message.capabilities === "object" ? message.capabilities.low || message.capabilities.high : message.capabilities !== 0))
                writer.uint32(56).uint64(message.capabilities);
            if (message.agentIdentification != null && $Object.hasOwnProperty.call(message, "agentIdentification"))
                $root.opamp.AgentIdentification.encode(message.agentIdentification, writer.uint32(66).fork(), _depth + 1).ldelim();
            if (message.command != null && $Object.hasOwnProperty.call(message, "command"))
                $root.opamp.ServerToAgentCommand.encode(message.command, writer.uint32(74).fork(), _depth + 1).ldelim();
            if (message.customCapabilities != null && $Object.hasOwnProperty.call(message, "customCapabilities"))
                $root.opamp.CustomCapabilities.encode(message.customCapabilities, writer.uint32(82).fork(), _depth + 1).ldelim();
            if (message.customMessage != null && $Object.hasOwnProperty.call(message, "customMessage"))
                $root.opamp.CustomMessage.encode(message.customMessage, writer.uint32(90).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ServerToAgent.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ServerToAgent();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.instanceUid = value;
                        else
                            delete message.instanceUid;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        message.errorResponse = $root.opamp.ServerErrorResponse.decode(reader, reader.size(), $undefined, _depth + 1, message.errorResponse);
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        message.remoteConfig = $root.opamp.AgentRemoteConfig.decode(reader, reader.size(), $undefined, _depth + 1, message.remoteConfig);
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        message.connectionSettings = $root.opamp.ConnectionSettingsOffers.decode(reader, reader.size(), $undefined, _depth + 1, message.connectionSettings);
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        message.packagesAvailable = $root.opamp.PackagesAvailable.decode(reader, reader.size(), $undefined, _depth + 1, message.packagesAvailable);
                        continue;
                    }
                case 6: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.flags = value;
                        else
                            delete message.flags;
                        continue;
                    }
                case 7: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.capabilities = value;
                        else
                            delete message.capabilities;
                        continue;
                    }
                case 8: {
                        if (wireType !== 2)
                            break;
                        message.agentIdentification = $root.opamp.AgentIdentification.decode(reader, reader.size(), $undefined, _depth + 1, message.agentIdentification);
                        continue;
                    }
                case 9: {
                        if (wireType !== 2)
                            break;
                        message.command = $root.opamp.ServerToAgentCommand.decode(reader, reader.size(), $undefined, _depth + 1, message.command);
                        continue;
                    }
                case 10: {
                        if (wireType !== 2)
                            break;
                        message.customCapabilities = $root.opamp.CustomCapabilities.decode(reader, reader.size(), $undefined, _depth + 1, message.customCapabilities);
                        continue;
                    }
                case 11: {
                        if (wireType !== 2)
                            break;
                        message.customMessage = $root.opamp.CustomMessage.decode(reader, reader.size(), $undefined, _depth + 1, message.customMessage);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ServerToAgent;
    })();

    opamp.ServerErrorResponse = (function() {

        const ServerErrorResponse = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ServerErrorResponse.prototype.type = 0;
        ServerErrorResponse.prototype.errorMessage = "";
        ServerErrorResponse.prototype.retryInfo = null;

        let $oneOfFields;

        $Object.defineProperty(ServerErrorResponse.prototype, "Details", {
            get: $util.oneOfGetter($oneOfFields = ["retryInfo"]),
            set: $util.oneOfSetter($oneOfFields)
        });

        ServerErrorResponse.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.type != null && $Object.hasOwnProperty.call(message, "type") && message.type !== 0)
                writer.uint32(8).int32(message.type);
            if (message.errorMessage != null && $Object.hasOwnProperty.call(message, "errorMessage") && message.errorMessage !== "")
                writer.uint32(18).string(message.errorMessage);
            if (message.retryInfo != null && $Object.hasOwnProperty.call(message, "retryInfo"))
                $root.opamp.RetryInfo.encode(message.retryInfo, writer.uint32(26).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ServerErrorResponse.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ServerErrorResponse();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.int32())
                            message.type = value;
                        else
                            delete message.type;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.errorMessage = value;
                        else
                            delete message.errorMessage;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        message.retryInfo = $root.opamp.RetryInfo.decode(reader, reader.size(), $undefined, _depth + 1, message.retryInfo);
                        message.Details = "retryInfo";
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ServerErrorResponse;
    })();

    opamp.ServerErrorResponseType = (function() {
        const valuesById = $Object.create(null), values = $Object.create(valuesById);
        values[valuesById[0] = "ServerErrorResponseType_Unknown"] = 0;
        values[valuesById[1] = "ServerErrorResponseType_BadRequest"] = 1;
        values[valuesById[2] = "ServerErrorResponseType_Unavailable"] = 2;
        return values;
    })();

    opamp.RetryInfo = (function() {

        const RetryInfo = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        RetryInfo.prototype.retryAfterNanoseconds = $util.Long ? $util.Long.fromBits(0,0,true) : 0;

        RetryInfo.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.retryAfterNanoseconds != null && $Object.hasOwnProperty.call(message, "retryAfterNanoseconds") && (typeof message.retryAfterNanoseconds === "object" ? message.retryAfterNanoseconds.low || message.retryAfterNanoseconds.high : message.retryAfterNanoseconds !== 0))
                writer.uint32(8).uint64(message.retryAfterNanoseconds);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        RetryInfo.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.RetryInfo();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.retryAfterNanoseconds = value;
                        else
                            delete message.retryAfterNanoseconds;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return RetryInfo;
    })();

    opamp.AgentRemoteConfig = (function() {

        const AgentRemoteConfig = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        AgentRemoteConfig.prototype.config = null;
        AgentRemoteConfig.prototype.configHash = $util.newBuffer([]);

        AgentRemoteConfig.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.config != null && $Object.hasOwnProperty.call(message, "config"))
                $root.opamp.AgentConfigMap.encode(message.config, writer.uint32(10).fork(), _depth + 1).ldelim();
            if (message.configHash != null && $Object.hasOwnProperty.call(message, "configHash") && message.configHash.length)
                writer.uint32(18).bytes(message.configHash);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        AgentRemoteConfig.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.AgentRemoteConfig();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        message.config = $root.opamp.AgentConfigMap.decode(reader, reader.size(), $undefined, _depth + 1, message.config);
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.configHash = value;
                        else
                            delete message.configHash;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return AgentRemoteConfig;
    })();

    opamp.PackagesAvailable = (function() {

        const PackagesAvailable = function (properties) {
            this.packages = {};
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        PackagesAvailable.prototype.packages = $util.emptyObject;
        PackagesAvailable.prototype.allPackagesHash = $util.newBuffer([]);

        PackagesAvailable.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.packages != null && $Object.hasOwnProperty.call(message, "packages"))
                for (let keys = $Object.keys(message.packages), i = 0; i < keys.length; ++i) {
                    writer.uint32(10).fork().uint32(10).string(keys[i]);
                    $root.opamp.PackageAvailable.encode(message.packages[keys[i]], writer.uint32(18).fork(), _depth + 1).ldelim().ldelim();
                }
            if (message.allPackagesHash != null && $Object.hasOwnProperty.call(message, "allPackagesHash") && message.allPackagesHash.length)
                writer.uint32(18).bytes(message.allPackagesHash);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        PackagesAvailable.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, key, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.PackagesAvailable();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (message.packages === $util.emptyObject)
                            message.packages = {};
                        let end2 = reader.size() + reader.pos;
                        if (end2 > reader.len)
                            throw $RangeError("index out of range");
                        reader.len = end2;
                        key = "";
                        value = null;
                        while (reader.pos < end2) {
                            let tag2 = reader.tag();
                            wireType = tag2 & 7;
                            switch (tag2 >>>= 3) {
                            case 1:
                                if (wireType !== 2)
                                    break;
                                key = reader.stringVerify();
                                continue;
                            case 2:
                                if (wireType !== 2)
                                    break;
                                value = $root.opamp.PackageAvailable.decode(reader, reader.size(), $undefined, _depth + 1, value);
                                continue;
                            }
                            reader.skipType(wireType, _depth, tag2);
                        }
                        if (reader.pos !== end2)
                            throw $RangeError("index out of range");
                        reader.len = end;
                        if (key === "__proto__")
                            $util.makeProp(message.packages, key);
                        message.packages[key] = value || new $root.opamp.PackageAvailable();
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.allPackagesHash = value;
                        else
                            delete message.allPackagesHash;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return PackagesAvailable;
    })();

    opamp.PackageAvailable = (function() {

        const PackageAvailable = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        PackageAvailable.prototype.type = 0;
        PackageAvailable.prototype.version = "";
        PackageAvailable.prototype.file = null;
        PackageAvailable.prototype.hash = $util.newBuffer([]);

        PackageAvailable.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.type != null && $Object.hasOwnProperty.call(message, "type") && message.type !== 0)
                writer.uint32(8).int32(message.type);
            if (message.version != null && $Object.hasOwnProperty.call(message, "version") && message.version !== "")
                writer.uint32(18).string(message.version);
            if (message.file != null && $Object.hasOwnProperty.call(message, "file"))
                $root.opamp.DownloadableFile.encode(message.file, writer.uint32(26).fork(), _depth + 1).ldelim();
            if (message.hash != null && $Object.hasOwnProperty.call(message, "hash") && message.hash.length)
                writer.uint32(34).bytes(message.hash);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        PackageAvailable.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.PackageAvailable();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.int32())
                            message.type = value;
                        else
                            delete message.type;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.version = value;
                        else
                            delete message.version;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        message.file = $root.opamp.DownloadableFile.decode(reader, reader.size(), $undefined, _depth + 1, message.file);
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.hash = value;
                        else
                            delete message.hash;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return PackageAvailable;
    })();

    opamp.PackageType = (function() {
        const valuesById = $Object.create(null), values = $Object.create(valuesById);
        values[valuesById[0] = "PackageType_TopLevel"] = 0;
        values[valuesById[1] = "PackageType_Addon"] = 1;
        return values;
    })();

    opamp.DownloadableFile = (function() {

        const DownloadableFile = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        DownloadableFile.prototype.downloadUrl = "";
        DownloadableFile.prototype.contentHash = $util.newBuffer([]);
        DownloadableFile.prototype.signature = $util.newBuffer([]);
        DownloadableFile.prototype.headers = null;

        DownloadableFile.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.downloadUrl != null && $Object.hasOwnProperty.call(message, "downloadUrl") && message.downloadUrl !== "")
                writer.uint32(10).string(message.downloadUrl);
            if (message.contentHash != null && $Object.hasOwnProperty.call(message, "contentHash") && message.contentHash.length)
                writer.uint32(18).bytes(message.contentHash);
            if (message.signature != null && $Object.hasOwnProperty.call(message, "signature") && message.signature.length)
                writer.uint32(26).bytes(message.signature);
            if (message.headers != null && $Object.hasOwnProperty.call(message, "headers"))
                $root.opamp.Headers.encode(message.headers, writer.uint32(34).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        DownloadableFile.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.DownloadableFile();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.downloadUrl = value;
                        else
                            delete message.downloadUrl;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.contentHash = value;
                        else
                            delete message.contentHash;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.signature = value;
                        else
                            delete message.signature;
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        message.headers = $root.opamp.Headers.decode(reader, reader.size(), $undefined, _depth + 1, message.headers);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return DownloadableFile;
    })();

    opamp.AgentIdentification = (function() {

        const AgentIdentification = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        AgentIdentification.prototype.newInstanceUid = $util.newBuffer([]);

        AgentIdentification.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.newInstanceUid != null && $Object.hasOwnProperty.call(message, "newInstanceUid") && message.newInstanceUid.length)
                writer.uint32(10).bytes(message.newInstanceUid);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        AgentIdentification.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.AgentIdentification();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.newInstanceUid = value;
                        else
                            delete message.newInstanceUid;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return AgentIdentification;
    })();

    opamp.ServerToAgentCommand = (function() {

        const ServerToAgentCommand = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ServerToAgentCommand.prototype.type = 0;

        ServerToAgentCommand.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.type != null && $Object.hasOwnProperty.call(message, "type") && message.type !== 0)
                writer.uint32(8).int32(message.type);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ServerToAgentCommand.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ServerToAgentCommand();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.int32())
                            message.type = value;
                        else
                            delete message.type;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ServerToAgentCommand;
    })();

    opamp.CommandType = (function() {
        const valuesById = $Object.create(null), values = $Object.create(valuesById);
        values[valuesById[0] = "CommandType_Restart"] = 0;
        return values;
    })();

    opamp.ConnectionSettingsOffers = (function() {

        const ConnectionSettingsOffers = function (properties) {
            this.otherConnections = {};
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ConnectionSettingsOffers.prototype.hash = $util.newBuffer([]);
        ConnectionSettingsOffers.prototype.opamp = null;
        ConnectionSettingsOffers.prototype.ownMetrics = null;
        ConnectionSettingsOffers.prototype.ownTraces = null;
        ConnectionSettingsOffers.prototype.ownLogs = null;
        ConnectionSettingsOffers.prototype.otherConnections = $util.emptyObject;

        ConnectionSettingsOffers.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.hash != null && $Object.hasOwnProperty.call(message, "hash") && message.hash.length)
                writer.uint32(10).bytes(message.hash);
            if (message.opamp != null && $Object.hasOwnProperty.call(message, "opamp"))
                $root.opamp.OpAMPConnectionSettings.encode(message.opamp, writer.uint32(18).fork(), _depth + 1).ldelim();
            if (message.ownMetrics != null && $Object.hasOwnProperty.call(message, "ownMetrics"))
                $root.opamp.TelemetryConnectionSettings.encode(message.ownMetrics, writer.uint32(26).fork(), _depth + 1).ldelim();
            if (message.ownTraces != null && $Object.hasOwnProperty.call(message, "ownTraces"))
                $root.opamp.TelemetryConnectionSettings.encode(message.ownTraces, writer.uint32(34).fork(), _depth + 1).ldelim();
            if (message.ownLogs != null && $Object.hasOwnProperty.call(message, "ownLogs"))
                $root.opamp.TelemetryConnectionSettings.encode(message.ownLogs, writer.uint32(42).fork(), _depth + 1).ldelim();
            if (message.otherConnections != null && $Object.hasOwnProperty.call(message, "otherConnections"))
                for (let keys = $Object.keys(message.otherConnections), i = 0; i < keys.length; ++i) {
                    writer.uint32(50).fork().uint32(10).string(keys[i]);
                    $root.opamp.OtherConnectionSettings.encode(message.otherConnections[keys[i]], writer.uint32(18).fork(), _depth + 1).ldelim().ldelim();
                }
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ConnectionSettingsOffers.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, key, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ConnectionSettingsOffers();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.hash = value;
                        else
                            delete message.hash;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        message.opamp = $root.opamp.OpAMPConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.opamp);
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        message.ownMetrics = $root.opamp.TelemetryConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.ownMetrics);
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        message.ownTraces = $root.opamp.TelemetryConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.ownTraces);
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        message.ownLogs = $root.opamp.TelemetryConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.ownLogs);
                        continue;
                    }
                case 6: {
                        if (wireType !== 2)
                            break;
                        if (message.otherConnections === $util.emptyObject)
                            message.otherConnections = {};
                        let end2 = reader.size() + reader.pos;
                        if (end2 > reader.len)
                            throw $RangeError("index out of range");
                        reader.len = end2;
                        key = "";
                        value = null;
                        while (reader.pos < end2) {
                            let tag2 = reader.tag();
                            wireType = tag2 & 7;
                            switch (tag2 >>>= 3) {
                            case 1:
                                if (wireType !== 2)
                                    break;
                                key = reader.stringVerify();
                                continue;
                            case 2:
                                if (wireType !== 2)
                                    break;
                                value = $root.opamp.OtherConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, value);
                                continue;
                            }
                            reader.skipType(wireType, _depth, tag2);
                        }
                        if (reader.pos !== end2)
                            throw $RangeError("index out of range");
                        reader.len = end;
                        if (key === "__proto__")
                            $util.makeProp(message.otherConnections, key);
                        message.otherConnections[key] = value || new $root.opamp.OtherConnectionSettings();
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ConnectionSettingsOffers;
    })();

    opamp.OpAMPConnectionSettings = (function() {

        const OpAMPConnectionSettings = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        OpAMPConnectionSettings.prototype.destinationEndpoint = "";
        OpAMPConnectionSettings.prototype.headers = null;
        OpAMPConnectionSettings.prototype.certificate = null;
        OpAMPConnectionSettings.prototype.heartbeatIntervalSeconds = $util.Long ? $util.Long.fromBits(0,0,true) : 0;
        OpAMPConnectionSettings.prototype.tls = null;
        OpAMPConnectionSettings.prototype.proxy = null;

        OpAMPConnectionSettings.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.destinationEndpoint != null && $Object.hasOwnProperty.call(message, "destinationEndpoint") && message.destinationEndpoint !== "")
                writer.uint32(10).string(message.destinationEndpoint);
            if (message.headers != null && $Object.hasOwnProperty.call(message, "headers"))
                $root.opamp.Headers.encode(message.headers, writer.uint32(18).fork(), _depth + 1).ldelim();
            if (message.certificate != null && $Object.hasOwnProperty.call(message, "certificate"))
                $root.opamp.TLSCertificate.encode(message.certificate, writer.uint32(26).fork(), _depth + 1).ldelim();
            if (message.heartbeatIntervalSeconds != null && $Object.hasOwnProperty.call(message, "heartbeatIntervalSeconds") && (typeof message.heartbeatIntervalSeconds === "object" ? message.heartbeatIntervalSeconds.low || message.heartbeatIntervalSeconds.high : message.heartbeatIntervalSeconds !== 0))
                writer.uint32(32).uint64(message.heartbeatIntervalSeconds);
            if (message.tls != null && $Object.hasOwnProperty.call(message, "tls"))
                $root.opamp.TLSConnectionSettings.encode(message.tls, writer.uint32(42).fork(), _depth + 1).ldelim();
            if (message.proxy != null && $Object.hasOwnProperty.call(message, "proxy"))
                $root.opamp.ProxyConnectionSettings.encode(message.proxy, writer.uint32(50).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        OpAMPConnectionSettings.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.OpAMPConnectionSettings();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.destinationEndpoint = value;
                        else
                            delete message.destinationEndpoint;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        message.headers = $root.opamp.Headers.decode(reader, reader.size(), $undefined, _depth + 1, message.headers);
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        message.certificate = $root.opamp.TLSCertificate.decode(reader, reader.size(), $undefined, _depth + 1, message.certificate);
                        continue;
                    }
                case 4: {
                        if (wireType !== 0)
                            break;
                        if (typeof (value = reader.uint64()) === "object" ? value.low || value.high : value !== 0)
                            message.heartbeatIntervalSeconds = value;
                        else
                            delete message.heartbeatIntervalSeconds;
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        message.tls = $root.opamp.TLSConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.tls);
                        continue;
                    }
                case 6: {
                        if (wireType !== 2)
                            break;
                        message.proxy = $root.opamp.ProxyConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.proxy);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return OpAMPConnectionSettings;
    })();

    opamp.TelemetryConnectionSettings = (function() {

        const TelemetryConnectionSettings = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        TelemetryConnectionSettings.prototype.destinationEndpoint = "";
        TelemetryConnectionSettings.prototype.headers = null;
        TelemetryConnectionSettings.prototype.certificate = null;
        TelemetryConnectionSettings.prototype.tls = null;
        TelemetryConnectionSettings.prototype.proxy = null;

        TelemetryConnectionSettings.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.destinationEndpoint != null && $Object.hasOwnProperty.call(message, "destinationEndpoint") && message.destinationEndpoint !== "")
                writer.uint32(10).string(message.destinationEndpoint);
            if (message.headers != null && $Object.hasOwnProperty.call(message, "headers"))
                $root.opamp.Headers.encode(message.headers, writer.uint32(18).fork(), _depth + 1).ldelim();
            if (message.certificate != null && $Object.hasOwnProperty.call(message, "certificate"))
                $root.opamp.TLSCertificate.encode(message.certificate, writer.uint32(26).fork(), _depth + 1).ldelim();
            if (message.tls != null && $Object.hasOwnProperty.call(message, "tls"))
                $root.opamp.TLSConnectionSettings.encode(message.tls, writer.uint32(34).fork(), _depth + 1).ldelim();
            if (message.proxy != null && $Object.hasOwnProperty.call(message, "proxy"))
                $root.opamp.ProxyConnectionSettings.encode(message.proxy, writer.uint32(42).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        TelemetryConnectionSettings.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.TelemetryConnectionSettings();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.destinationEndpoint = value;
                        else
                            delete message.destinationEndpoint;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        message.headers = $root.opamp.Headers.decode(reader, reader.size(), $undefined, _depth + 1, message.headers);
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        message.certificate = $root.opamp.TLSCertificate.decode(reader, reader.size(), $undefined, _depth + 1, message.certificate);
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        message.tls = $root.opamp.TLSConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.tls);
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        message.proxy = $root.opamp.ProxyConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.proxy);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return TelemetryConnectionSettings;
    })();

    opamp.OtherConnectionSettings = (function() {

        const OtherConnectionSettings = function (properties) {
            this.otherSettings = {};
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        OtherConnectionSettings.prototype.destinationEndpoint = "";
        OtherConnectionSettings.prototype.headers = null;
        OtherConnectionSettings.prototype.certificate = null;
        OtherConnectionSettings.prototype.otherSettings = $util.emptyObject;
        OtherConnectionSettings.prototype.tls = null;
        OtherConnectionSettings.prototype.proxy = null;

        OtherConnectionSettings.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.destinationEndpoint != null && $Object.hasOwnProperty.call(message, "destinationEndpoint") && message.destinationEndpoint !== "")
                writer.uint32(10).string(message.destinationEndpoint);
            if (message.headers != null && $Object.hasOwnProperty.call(message, "headers"))
                $root.opamp.Headers.encode(message.headers, writer.uint32(18).fork(), _depth + 1).ldelim();
            if (message.certificate != null && $Object.hasOwnProperty.call(message, "certificate"))
                $root.opamp.TLSCertificate.encode(message.certificate, writer.uint32(26).fork(), _depth + 1).ldelim();
            if (message.otherSettings != null && $Object.hasOwnProperty.call(message, "otherSettings"))
                for (let keys = $Object.keys(message.otherSettings), i = 0; i < keys.length; ++i)
                    writer.uint32(34).fork().uint32(10).string(keys[i]).uint32(18).string(message.otherSettings[keys[i]]).ldelim();
            if (message.tls != null && $Object.hasOwnProperty.call(message, "tls"))
                $root.opamp.TLSConnectionSettings.encode(message.tls, writer.uint32(42).fork(), _depth + 1).ldelim();
            if (message.proxy != null && $Object.hasOwnProperty.call(message, "proxy"))
                $root.opamp.ProxyConnectionSettings.encode(message.proxy, writer.uint32(50).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        OtherConnectionSettings.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, key, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.OtherConnectionSettings();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.destinationEndpoint = value;
                        else
                            delete message.destinationEndpoint;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        message.headers = $root.opamp.Headers.decode(reader, reader.size(), $undefined, _depth + 1, message.headers);
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        message.certificate = $root.opamp.TLSCertificate.decode(reader, reader.size(), $undefined, _depth + 1, message.certificate);
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        if (message.otherSettings === $util.emptyObject)
                            message.otherSettings = {};
                        let end2 = reader.size() + reader.pos;
                        if (end2 > reader.len)
                            throw $RangeError("index out of range");
                        reader.len = end2;
                        key = "";
                        value = "";
                        while (reader.pos < end2) {
                            let tag2 = reader.tag();
                            wireType = tag2 & 7;
                            switch (tag2 >>>= 3) {
                            case 1:
                                if (wireType !== 2)
                                    break;
                                key = reader.stringVerify();
                                continue;
                            case 2:
                                if (wireType !== 2)
                                    break;
                                value = reader.stringVerify();
                                continue;
                            }
                            reader.skipType(wireType, _depth, tag2);
                        }
                        if (reader.pos !== end2)
                            throw $RangeError("index out of range");
                        reader.len = end;
                        if (key === "__proto__")
                            $util.makeProp(message.otherSettings, key);
                        message.otherSettings[key] = value;
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        message.tls = $root.opamp.TLSConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.tls);
                        continue;
                    }
                case 6: {
                        if (wireType !== 2)
                            break;
                        message.proxy = $root.opamp.ProxyConnectionSettings.decode(reader, reader.size(), $undefined, _depth + 1, message.proxy);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return OtherConnectionSettings;
    })();

    opamp.TLSCertificate = (function() {

        const TLSCertificate = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        TLSCertificate.prototype.cert = $util.newBuffer([]);
        TLSCertificate.prototype.privateKey = $util.newBuffer([]);
        TLSCertificate.prototype.caCert = $util.newBuffer([]);

        TLSCertificate.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.cert != null && $Object.hasOwnProperty.call(message, "cert") && message.cert.length)
                writer.uint32(10).bytes(message.cert);
            if (message.privateKey != null && $Object.hasOwnProperty.call(message, "privateKey") && message.privateKey.length)
                writer.uint32(18).bytes(message.privateKey);
            if (message.caCert != null && $Object.hasOwnProperty.call(message, "caCert") && message.caCert.length)
                writer.uint32(26).bytes(message.caCert);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        TLSCertificate.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.TLSCertificate();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.cert = value;
                        else
                            delete message.cert;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.privateKey = value;
                        else
                            delete message.privateKey;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.caCert = value;
                        else
                            delete message.caCert;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return TLSCertificate;
    })();

    opamp.TLSConnectionSettings = (function() {

        const TLSConnectionSettings = function (properties) {
            this.cipherSuites = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        TLSConnectionSettings.prototype.caPemContents = "";
        TLSConnectionSettings.prototype.includeSystemCaCertsPool = false;
        TLSConnectionSettings.prototype.insecureSkipVerify = false;
        TLSConnectionSettings.prototype.minVersion = "";
        TLSConnectionSettings.prototype.maxVersion = "";
        TLSConnectionSettings.prototype.cipherSuites = $util.emptyArray;

        TLSConnectionSettings.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.caPemContents != null && $Object.hasOwnProperty.call(message, "caPemContents") && message.caPemContents !== "")
                writer.uint32(10).string(message.caPemContents);
            if (message.includeSystemCaCertsPool != null && $Object.hasOwnProperty.call(message, "includeSystemCaCertsPool") && message.includeSystemCaCertsPool !== false)
                writer.uint32(16).bool(message.includeSystemCaCertsPool);
            if (message.insecureSkipVerify != null && $Object.hasOwnProperty.call(message, "insecureSkipVerify") && message.insecureSkipVerify !== false)
                writer.uint32(24).bool(message.insecureSkipVerify);
            if (message.minVersion != null && $Object.hasOwnProperty.call(message, "minVersion") && message.minVersion !== "")
                writer.uint32(34).string(message.minVersion);
            if (message.maxVersion != null && $Object.hasOwnProperty.call(message, "maxVersion") && message.maxVersion !== "")
                writer.uint32(42).string(message.maxVersion);
            if (message.cipherSuites != null && message.cipherSuites.length)
                for (let i = 0; i < message.cipherSuites.length; ++i)
                    writer.uint32(50).string(message.cipherSuites[i]);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        TLSConnectionSettings.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.TLSConnectionSettings();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.caPemContents = value;
                        else
                            delete message.caPemContents;
                        continue;
                    }
                case 2: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.bool())
                            message.includeSystemCaCertsPool = value;
                        else
                            delete message.includeSystemCaCertsPool;
                        continue;
                    }
                case 3: {
                        if (wireType !== 0)
                            break;
                        if (value = reader.bool())
                            message.insecureSkipVerify = value;
                        else
                            delete message.insecureSkipVerify;
                        continue;
                    }
                case 4: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.minVersion = value;
                        else
                            delete message.minVersion;
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.maxVersion = value;
                        else
                            delete message.maxVersion;
                        continue;
                    }
                case 6: {
                        if (wireType !== 2)
                            break;
                        if (!(message.cipherSuites && message.cipherSuites.length))
                            message.cipherSuites = [];
                        message.cipherSuites.push(reader.stringVerify());
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return TLSConnectionSettings;
    })();

    opamp.ProxyConnectionSettings = (function() {

        const ProxyConnectionSettings = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ProxyConnectionSettings.prototype.url = "";
        ProxyConnectionSettings.prototype.connectHeaders = null;

        ProxyConnectionSettings.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.url != null && $Object.hasOwnProperty.call(message, "url") && message.url !== "")
                writer.uint32(10).string(message.url);
            if (message.connectHeaders != null && $Object.hasOwnProperty.call(message, "connectHeaders"))
                $root.opamp.Headers.encode(message.connectHeaders, writer.uint32(18).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ProxyConnectionSettings.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ProxyConnectionSettings();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.url = value;
                        else
                            delete message.url;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        message.connectHeaders = $root.opamp.Headers.decode(reader, reader.size(), $undefined, _depth + 1, message.connectHeaders);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ProxyConnectionSettings;
    })();

    opamp.AgentConfigMap = (function() {

        const AgentConfigMap = function (properties) {
            this.configMap = {};
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        AgentConfigMap.prototype.configMap = $util.emptyObject;

        AgentConfigMap.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.configMap != null && $Object.hasOwnProperty.call(message, "configMap"))
                for (let keys = $Object.keys(message.configMap), i = 0; i < keys.length; ++i) {
                    writer.uint32(10).fork().uint32(10).string(keys[i]);
                    $root.opamp.AgentConfigFile.encode(message.configMap[keys[i]], writer.uint32(18).fork(), _depth + 1).ldelim().ldelim();
                }
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        AgentConfigMap.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, key, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.AgentConfigMap();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (message.configMap === $util.emptyObject)
                            message.configMap = {};
                        let end2 = reader.size() + reader.pos;
                        if (end2 > reader.len)
                            throw $RangeError("index out of range");
                        reader.len = end2;
                        key = "";
                        value = null;
                        while (reader.pos < end2) {
                            let tag2 = reader.tag();
                            wireType = tag2 & 7;
                            switch (tag2 >>>= 3) {
                            case 1:
                                if (wireType !== 2)
                                    break;
                                key = reader.stringVerify();
                                continue;
                            case 2:
                                if (wireType !== 2)
                                    break;
                                value = $root.opamp.AgentConfigFile.decode(reader, reader.size(), $undefined, _depth + 1, value);
                                continue;
                            }
                            reader.skipType(wireType, _depth, tag2);
                        }
                        if (reader.pos !== end2)
                            throw $RangeError("index out of range");
                        reader.len = end;
                        if (key === "__proto__")
                            $util.makeProp(message.configMap, key);
                        message.configMap[key] = value || new $root.opamp.AgentConfigFile();
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return AgentConfigMap;
    })();

    opamp.AgentConfigFile = (function() {

        const AgentConfigFile = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        AgentConfigFile.prototype.body = $util.newBuffer([]);
        AgentConfigFile.prototype.contentType = "";

        AgentConfigFile.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.body != null && $Object.hasOwnProperty.call(message, "body") && message.body.length)
                writer.uint32(10).bytes(message.body);
            if (message.contentType != null && $Object.hasOwnProperty.call(message, "contentType") && message.contentType !== "")
                writer.uint32(18).string(message.contentType);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        AgentConfigFile.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.AgentConfigFile();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.body = value;
                        else
                            delete message.body;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.contentType = value;
                        else
                            delete message.contentType;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return AgentConfigFile;
    })();

    opamp.Headers = (function() {

        const Headers = function (properties) {
            this.headers = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        Headers.prototype.headers = $util.emptyArray;

        Headers.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.headers != null && message.headers.length)
                for (let i = 0; i < message.headers.length; ++i)
                    $root.opamp.Header.encode(message.headers[i], writer.uint32(10).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        Headers.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.Headers();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (!(message.headers && message.headers.length))
                            message.headers = [];
                        message.headers.push($root.opamp.Header.decode(reader, reader.size(), $undefined, _depth + 1));
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return Headers;
    })();

    opamp.Header = (function() {

        const Header = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        Header.prototype.key = "";
        Header.prototype.value = "";

        Header.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.key != null && $Object.hasOwnProperty.call(message, "key") && message.key !== "")
                writer.uint32(10).string(message.key);
            if (message.value != null && $Object.hasOwnProperty.call(message, "value") && message.value !== "")
                writer.uint32(18).string(message.value);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        Header.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.Header();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.key = value;
                        else
                            delete message.key;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.value = value;
                        else
                            delete message.value;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return Header;
    })();

    opamp.CustomCapabilities = (function() {

        const CustomCapabilities = function (properties) {
            this.capabilities = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        CustomCapabilities.prototype.capabilities = $util.emptyArray;

        CustomCapabilities.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.capabilities != null && message.capabilities.length)
                for (let i = 0; i < message.capabilities.length; ++i)
                    writer.uint32(10).string(message.capabilities[i]);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        CustomCapabilities.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.CustomCapabilities();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (!(message.capabilities && message.capabilities.length))
                            message.capabilities = [];
                        message.capabilities.push(reader.stringVerify());
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return CustomCapabilities;
    })();

    opamp.CustomMessage = (function() {

        const CustomMessage = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        CustomMessage.prototype.capability = "";
        CustomMessage.prototype.type = "";
        CustomMessage.prototype.data = $util.newBuffer([]);

        CustomMessage.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.capability != null && $Object.hasOwnProperty.call(message, "capability") && message.capability !== "")
                writer.uint32(10).string(message.capability);
            if (message.type != null && $Object.hasOwnProperty.call(message, "type") && message.type !== "")
                writer.uint32(18).string(message.type);
            if (message.data != null && $Object.hasOwnProperty.call(message, "data") && message.data.length)
                writer.uint32(26).bytes(message.data);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        CustomMessage.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.CustomMessage();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.capability = value;
                        else
                            delete message.capability;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.type = value;
                        else
                            delete message.type;
                        continue;
                    }
                case 3: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.bytes()).length)
                            message.data = value;
                        else
                            delete message.data;
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return CustomMessage;
    })();

    opamp.AnyValue = (function() {

        const AnyValue = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        AnyValue.prototype.stringValue = null;
        AnyValue.prototype.boolValue = null;
        AnyValue.prototype.intValue = null;
        AnyValue.prototype.doubleValue = null;
        AnyValue.prototype.arrayValue = null;
        AnyValue.prototype.kvlistValue = null;
        AnyValue.prototype.bytesValue = null;

        let $oneOfFields;

        $Object.defineProperty(AnyValue.prototype, "value", {
            get: $util.oneOfGetter($oneOfFields = ["stringValue", "boolValue", "intValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue"]),
            set: $util.oneOfSetter($oneOfFields)
        });

        AnyValue.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.stringValue != null && $Object.hasOwnProperty.call(message, "stringValue"))
                writer.uint32(10).string(message.stringValue);
            if (message.boolValue != null && $Object.hasOwnProperty.call(message, "boolValue"))
                writer.uint32(16).bool(message.boolValue);
            if (message.intValue != null && $Object.hasOwnProperty.call(message, "intValue"))
                writer.uint32(24).int64(message.intValue);
            if (message.doubleValue != null && $Object.hasOwnProperty.call(message, "doubleValue"))
                writer.uint32(33).double(message.doubleValue);
            if (message.arrayValue != null && $Object.hasOwnProperty.call(message, "arrayValue"))
                $root.opamp.ArrayValue.encode(message.arrayValue, writer.uint32(42).fork(), _depth + 1).ldelim();
            if (message.kvlistValue != null && $Object.hasOwnProperty.call(message, "kvlistValue"))
                $root.opamp.KeyValueList.encode(message.kvlistValue, writer.uint32(50).fork(), _depth + 1).ldelim();
            if (message.bytesValue != null && $Object.hasOwnProperty.call(message, "bytesValue"))
                writer.uint32(58).bytes(message.bytesValue);
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        AnyValue.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.AnyValue();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        message.stringValue = reader.stringVerify();
                        message.value = "stringValue";
                        continue;
                    }
                case 2: {
                        if (wireType !== 0)
                            break;
                        message.boolValue = reader.bool();
                        message.value = "boolValue";
                        continue;
                    }
                case 3: {
                        if (wireType !== 0)
                            break;
                        message.intValue = reader.int64();
                        message.value = "intValue";
                        continue;
                    }
                case 4: {
                        if (wireType !== 1)
                            break;
                        message.doubleValue = reader.double();
                        message.value = "doubleValue";
                        continue;
                    }
                case 5: {
                        if (wireType !== 2)
                            break;
                        message.arrayValue = $root.opamp.ArrayValue.decode(reader, reader.size(), $undefined, _depth + 1, message.arrayValue);
                        message.value = "arrayValue";
                        continue;
                    }
                case 6: {
                        if (wireType !== 2)
                            break;
                        message.kvlistValue = $root.opamp.KeyValueList.decode(reader, reader.size(), $undefined, _depth + 1, message.kvlistValue);
                        message.value = "kvlistValue";
                        continue;
                    }
                case 7: {
                        if (wireType !== 2)
                            break;
                        message.bytesValue = reader.bytes();
                        message.value = "bytesValue";
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return AnyValue;
    })();

    opamp.ArrayValue = (function() {

        const ArrayValue = function (properties) {
            this.values = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        ArrayValue.prototype.values = $util.emptyArray;

        ArrayValue.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.values != null && message.values.length)
                for (let i = 0; i < message.values.length; ++i)
                    $root.opamp.AnyValue.encode(message.values[i], writer.uint32(10).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        ArrayValue.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.ArrayValue();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (!(message.values && message.values.length))
                            message.values = [];
                        message.values.push($root.opamp.AnyValue.decode(reader, reader.size(), $undefined, _depth + 1));
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return ArrayValue;
    })();

    opamp.KeyValueList = (function() {

        const KeyValueList = function (properties) {
            this.values = [];
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        KeyValueList.prototype.values = $util.emptyArray;

        KeyValueList.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.values != null && message.values.length)
                for (let i = 0; i < message.values.length; ++i)
                    $root.opamp.KeyValue.encode(message.values[i], writer.uint32(10).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        KeyValueList.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.KeyValueList();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if (!(message.values && message.values.length))
                            message.values = [];
                        message.values.push($root.opamp.KeyValue.decode(reader, reader.size(), $undefined, _depth + 1));
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return KeyValueList;
    })();

    opamp.KeyValue = (function() {

        const KeyValue = function (properties) {
            if (properties)
                for (let keys = $Object.keys(properties), i = 0; i < keys.length; ++i)
                    if (properties[keys[i]] != null && keys[i] !== "__proto__")
                        this[keys[i]] = properties[keys[i]];
        };

        KeyValue.prototype.key = "";
        KeyValue.prototype.value = null;

        KeyValue.encode = function (message, writer, _depth) {
            if (!writer)
                writer = $Writer.create();
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $util.recursionLimit)
                throw $Error("max depth exceeded");
            if (message.key != null && $Object.hasOwnProperty.call(message, "key") && message.key !== "")
                writer.uint32(10).string(message.key);
            if (message.value != null && $Object.hasOwnProperty.call(message, "value"))
                $root.opamp.AnyValue.encode(message.value, writer.uint32(18).fork(), _depth + 1).ldelim();
            if (message.$unknowns != null && $Object.hasOwnProperty.call(message, "$unknowns"))
                for (let i = 0; i < message.$unknowns.length; ++i)
                    writer.raw(message.$unknowns[i]);
            return writer;
        };

        KeyValue.decode = function (reader, length, _end, _depth, _target) {
            if (!(reader instanceof $Reader))
                reader = $Reader.create(reader);
            if (_depth === $undefined)
                _depth = 0;
            if (_depth > $Reader.recursionLimit)
                throw $Error("max depth exceeded");
            let end, message, value;
            if (length === $undefined)
                end = reader.len;
            else {
                end = reader.pos + length;
                if (end > reader.len)
                    throw $RangeError("index out of range");
                length = reader.len;
                reader.len = end;
            }
            message = _target || new $root.opamp.KeyValue();
            while (reader.pos < end) {
                let start = reader.pos;
                let tag = reader.tag();
                if (tag === _end) {
                    _end = $undefined;
                    break;
                }
                let wireType = tag & 7;
                switch (tag >>>= 3) {
                case 1: {
                        if (wireType !== 2)
                            break;
                        if ((value = reader.stringVerify()).length)
                            message.key = value;
                        else
                            delete message.key;
                        continue;
                    }
                case 2: {
                        if (wireType !== 2)
                            break;
                        message.value = $root.opamp.AnyValue.decode(reader, reader.size(), $undefined, _depth + 1, message.value);
                        continue;
                    }
                }
                reader.skipType(wireType, _depth, tag);
                if (!reader.discardUnknown) {
                    $util.makeProp(message, "$unknowns", false);
                    (message.$unknowns || (message.$unknowns = [])).push(reader.raw(start, reader.pos));
                }
            }
            if (length !== $undefined) {
                if (reader.pos !== end)
                    throw $RangeError("index out of range");
                reader.len = length;
            }
            if (_end !== $undefined)
                throw $Error("missing end group");
            return message;
        };

        return KeyValue;
    })();

    return opamp;
})();

export {
  $root as default
};
