import * as $protobuf from "protobufjs/minimal.js";
import type Long from "long";

/** Namespace opamp. */
export namespace opamp {

    /**
     * Properties of an AgentToServer.
     * @deprecated Use opamp.AgentToServer.$Properties instead.
     */
    interface IAgentToServer extends opamp.AgentToServer.$Properties {
    }

    /** Represents an AgentToServer. */
    class AgentToServer {

        /**
         * Constructs a new AgentToServer.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.AgentToServer.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** AgentToServer instanceUid. */
        instanceUid: Uint8Array;

        /** AgentToServer sequenceNum. */
        sequenceNum: Long;

        /** AgentToServer agentDescription. */
        agentDescription?: (opamp.AgentDescription.$Properties|null);

        /** AgentToServer capabilities. */
        capabilities: Long;

        /** AgentToServer health. */
        health?: (opamp.ComponentHealth.$Properties|null);

        /** AgentToServer effectiveConfig. */
        effectiveConfig?: (opamp.EffectiveConfig.$Properties|null);

        /** AgentToServer remoteConfigStatus. */
        remoteConfigStatus?: (opamp.RemoteConfigStatus.$Properties|null);

        /** AgentToServer packageStatuses. */
        packageStatuses?: (opamp.PackageStatuses.$Properties|null);

        /** AgentToServer agentDisconnect. */
        agentDisconnect?: (opamp.AgentDisconnect.$Properties|null);

        /** AgentToServer flags. */
        flags: Long;

        /** AgentToServer connectionSettingsRequest. */
        connectionSettingsRequest?: (opamp.ConnectionSettingsRequest.$Properties|null);

        /** AgentToServer customCapabilities. */
        customCapabilities?: (opamp.CustomCapabilities.$Properties|null);

        /** AgentToServer customMessage. */
        customMessage?: (opamp.CustomMessage.$Properties|null);

        /** AgentToServer availableComponents. */
        availableComponents?: (opamp.AvailableComponents.$Properties|null);

        /** AgentToServer connectionSettingsStatus. */
        connectionSettingsStatus?: (opamp.ConnectionSettingsStatus.$Properties|null);

        /**
         * Encodes the specified AgentToServer message. Does not implicitly {@link opamp.AgentToServer.verify|verify} messages.
         * @param message AgentToServer message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.AgentToServer.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AgentToServer message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.AgentToServer & opamp.AgentToServer.$Shape} AgentToServer
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.AgentToServer & opamp.AgentToServer.$Shape;
    }

    namespace AgentToServer {

        /** Properties of an AgentToServer. */
        interface $Properties {

            /** AgentToServer instanceUid */
            instanceUid?: (Uint8Array|null);

            /** AgentToServer sequenceNum */
            sequenceNum?: (Long|null);

            /** AgentToServer agentDescription */
            agentDescription?: (opamp.AgentDescription.$Properties|null);

            /** AgentToServer capabilities */
            capabilities?: (Long|null);

            /** AgentToServer health */
            health?: (opamp.ComponentHealth.$Properties|null);

            /** AgentToServer effectiveConfig */
            effectiveConfig?: (opamp.EffectiveConfig.$Properties|null);

            /** AgentToServer remoteConfigStatus */
            remoteConfigStatus?: (opamp.RemoteConfigStatus.$Properties|null);

            /** AgentToServer packageStatuses */
            packageStatuses?: (opamp.PackageStatuses.$Properties|null);

            /** AgentToServer agentDisconnect */
            agentDisconnect?: (opamp.AgentDisconnect.$Properties|null);

            /** AgentToServer flags */
            flags?: (Long|null);

            /** AgentToServer connectionSettingsRequest */
            connectionSettingsRequest?: (opamp.ConnectionSettingsRequest.$Properties|null);

            /** AgentToServer customCapabilities */
            customCapabilities?: (opamp.CustomCapabilities.$Properties|null);

            /** AgentToServer customMessage */
            customMessage?: (opamp.CustomMessage.$Properties|null);

            /** AgentToServer availableComponents */
            availableComponents?: (opamp.AvailableComponents.$Properties|null);

            /** AgentToServer connectionSettingsStatus */
            connectionSettingsStatus?: (opamp.ConnectionSettingsStatus.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an AgentToServer. */
        type $Shape = {
          instanceUid?: Uint8Array|null;
          sequenceNum?: Long|null;
          agentDescription?: opamp.AgentDescription.$Shape|null;
          capabilities?: Long|null;
          health?: opamp.ComponentHealth.$Shape|null;
          effectiveConfig?: opamp.EffectiveConfig.$Shape|null;
          remoteConfigStatus?: opamp.RemoteConfigStatus.$Shape|null;
          packageStatuses?: opamp.PackageStatuses.$Shape|null;
          agentDisconnect?: opamp.AgentDisconnect.$Shape|null;
          flags?: Long|null;
          connectionSettingsRequest?: opamp.ConnectionSettingsRequest.$Shape|null;
          customCapabilities?: opamp.CustomCapabilities.$Shape|null;
          customMessage?: opamp.CustomMessage.$Shape|null;
          availableComponents?: opamp.AvailableComponents.$Shape|null;
          connectionSettingsStatus?: opamp.ConnectionSettingsStatus.$Shape|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of an AgentDescription.
     * @deprecated Use opamp.AgentDescription.$Properties instead.
     */
    interface IAgentDescription extends opamp.AgentDescription.$Properties {
    }

    /** Represents an AgentDescription. */
    class AgentDescription {

        /**
         * Constructs a new AgentDescription.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.AgentDescription.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** AgentDescription identifyingAttributes. */
        identifyingAttributes: opamp.KeyValue.$Properties[];

        /** AgentDescription nonIdentifyingAttributes. */
        nonIdentifyingAttributes: opamp.KeyValue.$Properties[];

        /**
         * Encodes the specified AgentDescription message. Does not implicitly {@link opamp.AgentDescription.verify|verify} messages.
         * @param message AgentDescription message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.AgentDescription.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AgentDescription message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.AgentDescription & opamp.AgentDescription.$Shape} AgentDescription
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.AgentDescription & opamp.AgentDescription.$Shape;
    }

    namespace AgentDescription {

        /** Properties of an AgentDescription. */
        interface $Properties {

            /** AgentDescription identifyingAttributes */
            identifyingAttributes?: (opamp.KeyValue.$Properties[]|null);

            /** AgentDescription nonIdentifyingAttributes */
            nonIdentifyingAttributes?: (opamp.KeyValue.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an AgentDescription. */
        type $Shape = {
          identifyingAttributes?: opamp.KeyValue.$Shape[]|null;
          nonIdentifyingAttributes?: opamp.KeyValue.$Shape[]|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of a ComponentHealth.
     * @deprecated Use opamp.ComponentHealth.$Properties instead.
     */
    interface IComponentHealth extends opamp.ComponentHealth.$Properties {
    }

    /** Represents a ComponentHealth. */
    class ComponentHealth {

        /**
         * Constructs a new ComponentHealth.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ComponentHealth.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ComponentHealth healthy. */
        healthy: boolean;

        /** ComponentHealth startTimeUnixNano. */
        startTimeUnixNano: Long;

        /** ComponentHealth lastError. */
        lastError: string;

        /** ComponentHealth status. */
        status: string;

        /** ComponentHealth statusTimeUnixNano. */
        statusTimeUnixNano: Long;

        /** ComponentHealth componentHealthMap. */
        componentHealthMap: { [k: string]: opamp.ComponentHealth.$Properties };

        /** ComponentHealth attributes. */
        attributes: opamp.KeyValue.$Properties[];

        /**
         * Encodes the specified ComponentHealth message. Does not implicitly {@link opamp.ComponentHealth.verify|verify} messages.
         * @param message ComponentHealth message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ComponentHealth.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ComponentHealth message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ComponentHealth & opamp.ComponentHealth.$Shape} ComponentHealth
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ComponentHealth & opamp.ComponentHealth.$Shape;
    }

    namespace ComponentHealth {

        /** Properties of a ComponentHealth. */
        interface $Properties {

            /** ComponentHealth healthy */
            healthy?: (boolean|null);

            /** ComponentHealth startTimeUnixNano */
            startTimeUnixNano?: (Long|null);

            /** ComponentHealth lastError */
            lastError?: (string|null);

            /** ComponentHealth status */
            status?: (string|null);

            /** ComponentHealth statusTimeUnixNano */
            statusTimeUnixNano?: (Long|null);

            /** ComponentHealth componentHealthMap */
            componentHealthMap?: ({ [k: string]: opamp.ComponentHealth.$Properties }|null);

            /** ComponentHealth attributes */
            attributes?: (opamp.KeyValue.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ComponentHealth. */
        type $Shape = {
          healthy?: boolean|null;
          startTimeUnixNano?: Long|null;
          lastError?: string|null;
          status?: string|null;
          statusTimeUnixNano?: Long|null;
          componentHealthMap?: { [k: string]: opamp.ComponentHealth.$Shape }|null;
          attributes?: opamp.KeyValue.$Shape[]|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of an EffectiveConfig.
     * @deprecated Use opamp.EffectiveConfig.$Properties instead.
     */
    interface IEffectiveConfig extends opamp.EffectiveConfig.$Properties {
    }

    /** Represents an EffectiveConfig. */
    class EffectiveConfig {

        /**
         * Constructs a new EffectiveConfig.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.EffectiveConfig.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** EffectiveConfig configMap. */
        configMap?: (opamp.AgentConfigMap.$Properties|null);

        /**
         * Encodes the specified EffectiveConfig message. Does not implicitly {@link opamp.EffectiveConfig.verify|verify} messages.
         * @param message EffectiveConfig message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.EffectiveConfig.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an EffectiveConfig message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.EffectiveConfig & opamp.EffectiveConfig.$Shape} EffectiveConfig
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.EffectiveConfig & opamp.EffectiveConfig.$Shape;
    }

    namespace EffectiveConfig {

        /** Properties of an EffectiveConfig. */
        interface $Properties {

            /** EffectiveConfig configMap */
            configMap?: (opamp.AgentConfigMap.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an EffectiveConfig. */
        type $Shape = opamp.EffectiveConfig.$Properties;
    }

    /**
     * Properties of a RemoteConfigStatus.
     * @deprecated Use opamp.RemoteConfigStatus.$Properties instead.
     */
    interface IRemoteConfigStatus extends opamp.RemoteConfigStatus.$Properties {
    }

    /** Represents a RemoteConfigStatus. */
    class RemoteConfigStatus {

        /**
         * Constructs a new RemoteConfigStatus.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.RemoteConfigStatus.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** RemoteConfigStatus lastRemoteConfigHash. */
        lastRemoteConfigHash: Uint8Array;

        /** RemoteConfigStatus status. */
        status: opamp.RemoteConfigStatuses;

        /** RemoteConfigStatus errorMessage. */
        errorMessage: string;

        /**
         * Encodes the specified RemoteConfigStatus message. Does not implicitly {@link opamp.RemoteConfigStatus.verify|verify} messages.
         * @param message RemoteConfigStatus message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.RemoteConfigStatus.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a RemoteConfigStatus message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.RemoteConfigStatus & opamp.RemoteConfigStatus.$Shape} RemoteConfigStatus
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.RemoteConfigStatus & opamp.RemoteConfigStatus.$Shape;
    }

    namespace RemoteConfigStatus {

        /** Properties of a RemoteConfigStatus. */
        interface $Properties {

            /** RemoteConfigStatus lastRemoteConfigHash */
            lastRemoteConfigHash?: (Uint8Array|null);

            /** RemoteConfigStatus status */
            status?: (opamp.RemoteConfigStatuses|null);

            /** RemoteConfigStatus errorMessage */
            errorMessage?: (string|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a RemoteConfigStatus. */
        type $Shape = opamp.RemoteConfigStatus.$Properties;
    }

    /** RemoteConfigStatuses enum. */
    enum RemoteConfigStatuses {

        /** RemoteConfigStatuses_UNSET value */
        RemoteConfigStatuses_UNSET = 0,

        /** RemoteConfigStatuses_APPLIED value */
        RemoteConfigStatuses_APPLIED = 1,

        /** RemoteConfigStatuses_APPLYING value */
        RemoteConfigStatuses_APPLYING = 2,

        /** RemoteConfigStatuses_FAILED value */
        RemoteConfigStatuses_FAILED = 3
    }

    /**
     * Properties of a PackageStatuses.
     * @deprecated Use opamp.PackageStatuses.$Properties instead.
     */
    interface IPackageStatuses extends opamp.PackageStatuses.$Properties {
    }

    /** Represents a PackageStatuses. */
    class PackageStatuses {

        /**
         * Constructs a new PackageStatuses.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.PackageStatuses.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** PackageStatuses packages. */
        packages: { [k: string]: opamp.PackageStatus.$Properties };

        /** PackageStatuses serverProvidedAllPackagesHash. */
        serverProvidedAllPackagesHash: Uint8Array;

        /** PackageStatuses errorMessage. */
        errorMessage: string;

        /**
         * Encodes the specified PackageStatuses message. Does not implicitly {@link opamp.PackageStatuses.verify|verify} messages.
         * @param message PackageStatuses message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.PackageStatuses.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a PackageStatuses message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.PackageStatuses & opamp.PackageStatuses.$Shape} PackageStatuses
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.PackageStatuses & opamp.PackageStatuses.$Shape;
    }

    namespace PackageStatuses {

        /** Properties of a PackageStatuses. */
        interface $Properties {

            /** PackageStatuses packages */
            packages?: ({ [k: string]: opamp.PackageStatus.$Properties }|null);

            /** PackageStatuses serverProvidedAllPackagesHash */
            serverProvidedAllPackagesHash?: (Uint8Array|null);

            /** PackageStatuses errorMessage */
            errorMessage?: (string|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a PackageStatuses. */
        type $Shape = opamp.PackageStatuses.$Properties;
    }

    /**
     * Properties of a PackageStatus.
     * @deprecated Use opamp.PackageStatus.$Properties instead.
     */
    interface IPackageStatus extends opamp.PackageStatus.$Properties {
    }

    /** Represents a PackageStatus. */
    class PackageStatus {

        /**
         * Constructs a new PackageStatus.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.PackageStatus.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** PackageStatus name. */
        name: string;

        /** PackageStatus agentHasVersion. */
        agentHasVersion: string;

        /** PackageStatus agentHasHash. */
        agentHasHash: Uint8Array;

        /** PackageStatus serverOfferedVersion. */
        serverOfferedVersion: string;

        /** PackageStatus serverOfferedHash. */
        serverOfferedHash: Uint8Array;

        /** PackageStatus status. */
        status: opamp.PackageStatusEnum;

        /** PackageStatus errorMessage. */
        errorMessage: string;

        /** PackageStatus downloadDetails. */
        downloadDetails?: (opamp.PackageDownloadDetails.$Properties|null);

        /**
         * Encodes the specified PackageStatus message. Does not implicitly {@link opamp.PackageStatus.verify|verify} messages.
         * @param message PackageStatus message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.PackageStatus.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a PackageStatus message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.PackageStatus & opamp.PackageStatus.$Shape} PackageStatus
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.PackageStatus & opamp.PackageStatus.$Shape;
    }

    namespace PackageStatus {

        /** Properties of a PackageStatus. */
        interface $Properties {

            /** PackageStatus name */
            name?: (string|null);

            /** PackageStatus agentHasVersion */
            agentHasVersion?: (string|null);

            /** PackageStatus agentHasHash */
            agentHasHash?: (Uint8Array|null);

            /** PackageStatus serverOfferedVersion */
            serverOfferedVersion?: (string|null);

            /** PackageStatus serverOfferedHash */
            serverOfferedHash?: (Uint8Array|null);

            /** PackageStatus status */
            status?: (opamp.PackageStatusEnum|null);

            /** PackageStatus errorMessage */
            errorMessage?: (string|null);

            /** PackageStatus downloadDetails */
            downloadDetails?: (opamp.PackageDownloadDetails.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a PackageStatus. */
        type $Shape = opamp.PackageStatus.$Properties;
    }

    /** PackageStatusEnum enum. */
    enum PackageStatusEnum {

        /** PackageStatusEnum_Installed value */
        PackageStatusEnum_Installed = 0,

        /** PackageStatusEnum_InstallPending value */
        PackageStatusEnum_InstallPending = 1,

        /** PackageStatusEnum_Installing value */
        PackageStatusEnum_Installing = 2,

        /** PackageStatusEnum_InstallFailed value */
        PackageStatusEnum_InstallFailed = 3,

        /** PackageStatusEnum_Downloading value */
        PackageStatusEnum_Downloading = 4
    }

    /**
     * Properties of a PackageDownloadDetails.
     * @deprecated Use opamp.PackageDownloadDetails.$Properties instead.
     */
    interface IPackageDownloadDetails extends opamp.PackageDownloadDetails.$Properties {
    }

    /** Represents a PackageDownloadDetails. */
    class PackageDownloadDetails {

        /**
         * Constructs a new PackageDownloadDetails.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.PackageDownloadDetails.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** PackageDownloadDetails downloadPercent. */
        downloadPercent: number;

        /** PackageDownloadDetails downloadBytesPerSecond. */
        downloadBytesPerSecond: number;

        /**
         * Encodes the specified PackageDownloadDetails message. Does not implicitly {@link opamp.PackageDownloadDetails.verify|verify} messages.
         * @param message PackageDownloadDetails message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.PackageDownloadDetails.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a PackageDownloadDetails message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.PackageDownloadDetails & opamp.PackageDownloadDetails.$Shape} PackageDownloadDetails
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.PackageDownloadDetails & opamp.PackageDownloadDetails.$Shape;
    }

    namespace PackageDownloadDetails {

        /** Properties of a PackageDownloadDetails. */
        interface $Properties {

            /** PackageDownloadDetails downloadPercent */
            downloadPercent?: (number|null);

            /** PackageDownloadDetails downloadBytesPerSecond */
            downloadBytesPerSecond?: (number|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a PackageDownloadDetails. */
        type $Shape = opamp.PackageDownloadDetails.$Properties;
    }

    /**
     * Properties of an AgentDisconnect.
     * @deprecated Use opamp.AgentDisconnect.$Properties instead.
     */
    interface IAgentDisconnect extends opamp.AgentDisconnect.$Properties {
    }

    /** Represents an AgentDisconnect. */
    class AgentDisconnect {

        /**
         * Constructs a new AgentDisconnect.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.AgentDisconnect.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /**
         * Encodes the specified AgentDisconnect message. Does not implicitly {@link opamp.AgentDisconnect.verify|verify} messages.
         * @param message AgentDisconnect message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.AgentDisconnect.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AgentDisconnect message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.AgentDisconnect & opamp.AgentDisconnect.$Shape} AgentDisconnect
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.AgentDisconnect & opamp.AgentDisconnect.$Shape;
    }

    namespace AgentDisconnect {

        /** Properties of an AgentDisconnect. */
        interface $Properties {

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an AgentDisconnect. */
        type $Shape = opamp.AgentDisconnect.$Properties;
    }

    /**
     * Properties of a ConnectionSettingsRequest.
     * @deprecated Use opamp.ConnectionSettingsRequest.$Properties instead.
     */
    interface IConnectionSettingsRequest extends opamp.ConnectionSettingsRequest.$Properties {
    }

    /** Represents a ConnectionSettingsRequest. */
    class ConnectionSettingsRequest {

        /**
         * Constructs a new ConnectionSettingsRequest.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ConnectionSettingsRequest.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ConnectionSettingsRequest opamp. */
        opamp?: (opamp.OpAMPConnectionSettingsRequest.$Properties|null);

        /**
         * Encodes the specified ConnectionSettingsRequest message. Does not implicitly {@link opamp.ConnectionSettingsRequest.verify|verify} messages.
         * @param message ConnectionSettingsRequest message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ConnectionSettingsRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ConnectionSettingsRequest message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ConnectionSettingsRequest & opamp.ConnectionSettingsRequest.$Shape} ConnectionSettingsRequest
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ConnectionSettingsRequest & opamp.ConnectionSettingsRequest.$Shape;
    }

    namespace ConnectionSettingsRequest {

        /** Properties of a ConnectionSettingsRequest. */
        interface $Properties {

            /** ConnectionSettingsRequest opamp */
            opamp?: (opamp.OpAMPConnectionSettingsRequest.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ConnectionSettingsRequest. */
        type $Shape = opamp.ConnectionSettingsRequest.$Properties;
    }

    /**
     * Properties of an OpAMPConnectionSettingsRequest.
     * @deprecated Use opamp.OpAMPConnectionSettingsRequest.$Properties instead.
     */
    interface IOpAMPConnectionSettingsRequest extends opamp.OpAMPConnectionSettingsRequest.$Properties {
    }

    /** Represents an OpAMPConnectionSettingsRequest. */
    class OpAMPConnectionSettingsRequest {

        /**
         * Constructs a new OpAMPConnectionSettingsRequest.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.OpAMPConnectionSettingsRequest.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** OpAMPConnectionSettingsRequest certificateRequest. */
        certificateRequest?: (opamp.CertificateRequest.$Properties|null);

        /**
         * Encodes the specified OpAMPConnectionSettingsRequest message. Does not implicitly {@link opamp.OpAMPConnectionSettingsRequest.verify|verify} messages.
         * @param message OpAMPConnectionSettingsRequest message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.OpAMPConnectionSettingsRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an OpAMPConnectionSettingsRequest message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.OpAMPConnectionSettingsRequest & opamp.OpAMPConnectionSettingsRequest.$Shape} OpAMPConnectionSettingsRequest
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.OpAMPConnectionSettingsRequest & opamp.OpAMPConnectionSettingsRequest.$Shape;
    }

    namespace OpAMPConnectionSettingsRequest {

        /** Properties of an OpAMPConnectionSettingsRequest. */
        interface $Properties {

            /** OpAMPConnectionSettingsRequest certificateRequest */
            certificateRequest?: (opamp.CertificateRequest.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an OpAMPConnectionSettingsRequest. */
        type $Shape = opamp.OpAMPConnectionSettingsRequest.$Properties;
    }

    /**
     * Properties of a CertificateRequest.
     * @deprecated Use opamp.CertificateRequest.$Properties instead.
     */
    interface ICertificateRequest extends opamp.CertificateRequest.$Properties {
    }

    /** Represents a CertificateRequest. */
    class CertificateRequest {

        /**
         * Constructs a new CertificateRequest.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.CertificateRequest.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** CertificateRequest csr. */
        csr: Uint8Array;

        /**
         * Encodes the specified CertificateRequest message. Does not implicitly {@link opamp.CertificateRequest.verify|verify} messages.
         * @param message CertificateRequest message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.CertificateRequest.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a CertificateRequest message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.CertificateRequest & opamp.CertificateRequest.$Shape} CertificateRequest
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.CertificateRequest & opamp.CertificateRequest.$Shape;
    }

    namespace CertificateRequest {

        /** Properties of a CertificateRequest. */
        interface $Properties {

            /** CertificateRequest csr */
            csr?: (Uint8Array|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a CertificateRequest. */
        type $Shape = opamp.CertificateRequest.$Properties;
    }

    /**
     * Properties of an AvailableComponents.
     * @deprecated Use opamp.AvailableComponents.$Properties instead.
     */
    interface IAvailableComponents extends opamp.AvailableComponents.$Properties {
    }

    /** Represents an AvailableComponents. */
    class AvailableComponents {

        /**
         * Constructs a new AvailableComponents.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.AvailableComponents.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** AvailableComponents components. */
        components: { [k: string]: opamp.ComponentDetails.$Properties };

        /** AvailableComponents hash. */
        hash: Uint8Array;

        /**
         * Encodes the specified AvailableComponents message. Does not implicitly {@link opamp.AvailableComponents.verify|verify} messages.
         * @param message AvailableComponents message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.AvailableComponents.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AvailableComponents message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.AvailableComponents & opamp.AvailableComponents.$Shape} AvailableComponents
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.AvailableComponents & opamp.AvailableComponents.$Shape;
    }

    namespace AvailableComponents {

        /** Properties of an AvailableComponents. */
        interface $Properties {

            /** AvailableComponents components */
            components?: ({ [k: string]: opamp.ComponentDetails.$Properties }|null);

            /** AvailableComponents hash */
            hash?: (Uint8Array|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an AvailableComponents. */
        type $Shape = {
          components?: { [k: string]: opamp.ComponentDetails.$Shape }|null;
          hash?: Uint8Array|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of a ComponentDetails.
     * @deprecated Use opamp.ComponentDetails.$Properties instead.
     */
    interface IComponentDetails extends opamp.ComponentDetails.$Properties {
    }

    /** Represents a ComponentDetails. */
    class ComponentDetails {

        /**
         * Constructs a new ComponentDetails.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ComponentDetails.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ComponentDetails metadata. */
        metadata: opamp.KeyValue.$Properties[];

        /** ComponentDetails subComponentMap. */
        subComponentMap: { [k: string]: opamp.ComponentDetails.$Properties };

        /**
         * Encodes the specified ComponentDetails message. Does not implicitly {@link opamp.ComponentDetails.verify|verify} messages.
         * @param message ComponentDetails message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ComponentDetails.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ComponentDetails message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ComponentDetails & opamp.ComponentDetails.$Shape} ComponentDetails
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ComponentDetails & opamp.ComponentDetails.$Shape;
    }

    namespace ComponentDetails {

        /** Properties of a ComponentDetails. */
        interface $Properties {

            /** ComponentDetails metadata */
            metadata?: (opamp.KeyValue.$Properties[]|null);

            /** ComponentDetails subComponentMap */
            subComponentMap?: ({ [k: string]: opamp.ComponentDetails.$Properties }|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ComponentDetails. */
        type $Shape = {
          metadata?: opamp.KeyValue.$Shape[]|null;
          subComponentMap?: { [k: string]: opamp.ComponentDetails.$Shape }|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of a ConnectionSettingsStatus.
     * @deprecated Use opamp.ConnectionSettingsStatus.$Properties instead.
     */
    interface IConnectionSettingsStatus extends opamp.ConnectionSettingsStatus.$Properties {
    }

    /** Represents a ConnectionSettingsStatus. */
    class ConnectionSettingsStatus {

        /**
         * Constructs a new ConnectionSettingsStatus.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ConnectionSettingsStatus.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ConnectionSettingsStatus lastConnectionSettingsHash. */
        lastConnectionSettingsHash: Uint8Array;

        /** ConnectionSettingsStatus status. */
        status: opamp.ConnectionSettingsStatuses;

        /** ConnectionSettingsStatus errorMessage. */
        errorMessage: string;

        /**
         * Encodes the specified ConnectionSettingsStatus message. Does not implicitly {@link opamp.ConnectionSettingsStatus.verify|verify} messages.
         * @param message ConnectionSettingsStatus message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ConnectionSettingsStatus.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ConnectionSettingsStatus message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ConnectionSettingsStatus & opamp.ConnectionSettingsStatus.$Shape} ConnectionSettingsStatus
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ConnectionSettingsStatus & opamp.ConnectionSettingsStatus.$Shape;
    }

    namespace ConnectionSettingsStatus {

        /** Properties of a ConnectionSettingsStatus. */
        interface $Properties {

            /** ConnectionSettingsStatus lastConnectionSettingsHash */
            lastConnectionSettingsHash?: (Uint8Array|null);

            /** ConnectionSettingsStatus status */
            status?: (opamp.ConnectionSettingsStatuses|null);

            /** ConnectionSettingsStatus errorMessage */
            errorMessage?: (string|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ConnectionSettingsStatus. */
        type $Shape = opamp.ConnectionSettingsStatus.$Properties;
    }

    /** ConnectionSettingsStatuses enum. */
    enum ConnectionSettingsStatuses {

        /** ConnectionSettingsStatuses_UNSET value */
        ConnectionSettingsStatuses_UNSET = 0,

        /** ConnectionSettingsStatuses_APPLIED value */
        ConnectionSettingsStatuses_APPLIED = 1,

        /** ConnectionSettingsStatuses_APPLYING value */
        ConnectionSettingsStatuses_APPLYING = 2,

        /** ConnectionSettingsStatuses_FAILED value */
        ConnectionSettingsStatuses_FAILED = 3
    }

    /**
     * Properties of a ServerToAgent.
     * @deprecated Use opamp.ServerToAgent.$Properties instead.
     */
    interface IServerToAgent extends opamp.ServerToAgent.$Properties {
    }

    /** Represents a ServerToAgent. */
    class ServerToAgent {

        /**
         * Constructs a new ServerToAgent.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ServerToAgent.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ServerToAgent instanceUid. */
        instanceUid: Uint8Array;

        /** ServerToAgent errorResponse. */
        errorResponse?: (opamp.ServerErrorResponse.$Properties|null);

        /** ServerToAgent remoteConfig. */
        remoteConfig?: (opamp.AgentRemoteConfig.$Properties|null);

        /** ServerToAgent connectionSettings. */
        connectionSettings?: (opamp.ConnectionSettingsOffers.$Properties|null);

        /** ServerToAgent packagesAvailable. */
        packagesAvailable?: (opamp.PackagesAvailable.$Properties|null);

        /** ServerToAgent flags. */
        flags: Long;

        /** ServerToAgent capabilities. */
        capabilities: Long;

        /** ServerToAgent agentIdentification. */
        agentIdentification?: (opamp.AgentIdentification.$Properties|null);

        /** ServerToAgent command. */
        command?: (opamp.ServerToAgentCommand.$Properties|null);

        /** ServerToAgent customCapabilities. */
        customCapabilities?: (opamp.CustomCapabilities.$Properties|null);

        /** ServerToAgent customMessage. */
        customMessage?: (opamp.CustomMessage.$Properties|null);

        /**
         * Encodes the specified ServerToAgent message. Does not implicitly {@link opamp.ServerToAgent.verify|verify} messages.
         * @param message ServerToAgent message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ServerToAgent.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ServerToAgent message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ServerToAgent & opamp.ServerToAgent.$Shape} ServerToAgent
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ServerToAgent & opamp.ServerToAgent.$Shape;
    }

    namespace ServerToAgent {

        /** Properties of a ServerToAgent. */
        interface $Properties {

            /** ServerToAgent instanceUid */
            instanceUid?: (Uint8Array|null);

            /** ServerToAgent errorResponse */
            errorResponse?: (opamp.ServerErrorResponse.$Properties|null);

            /** ServerToAgent remoteConfig */
            remoteConfig?: (opamp.AgentRemoteConfig.$Properties|null);

            /** ServerToAgent connectionSettings */
            connectionSettings?: (opamp.ConnectionSettingsOffers.$Properties|null);

            /** ServerToAgent packagesAvailable */
            packagesAvailable?: (opamp.PackagesAvailable.$Properties|null);

            /** ServerToAgent flags */
            flags?: (Long|null);

            /** ServerToAgent capabilities */
            capabilities?: (Long|null);

            /** ServerToAgent agentIdentification */
            agentIdentification?: (opamp.AgentIdentification.$Properties|null);

            /** ServerToAgent command */
            command?: (opamp.ServerToAgentCommand.$Properties|null);

            /** ServerToAgent customCapabilities */
            customCapabilities?: (opamp.CustomCapabilities.$Properties|null);

            /** ServerToAgent customMessage */
            customMessage?: (opamp.CustomMessage.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ServerToAgent. */
        type $Shape = {
          instanceUid?: Uint8Array|null;
          errorResponse?: opamp.ServerErrorResponse.$Shape|null;
          remoteConfig?: opamp.AgentRemoteConfig.$Shape|null;
          connectionSettings?: opamp.ConnectionSettingsOffers.$Shape|null;
          packagesAvailable?: opamp.PackagesAvailable.$Shape|null;
          flags?: Long|null;
          capabilities?: Long|null;
          agentIdentification?: opamp.AgentIdentification.$Shape|null;
          command?: opamp.ServerToAgentCommand.$Shape|null;
          customCapabilities?: opamp.CustomCapabilities.$Shape|null;
          customMessage?: opamp.CustomMessage.$Shape|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of a ServerErrorResponse.
     * @deprecated Use opamp.ServerErrorResponse.$Properties instead.
     */
    interface IServerErrorResponse extends opamp.ServerErrorResponse.$Properties {
    }

    /** Represents a ServerErrorResponse. */
    class ServerErrorResponse {

        /**
         * Constructs a new ServerErrorResponse.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ServerErrorResponse.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ServerErrorResponse type. */
        type: opamp.ServerErrorResponseType;

        /** ServerErrorResponse errorMessage. */
        errorMessage: string;

        /** ServerErrorResponse retryInfo. */
        retryInfo?: (opamp.RetryInfo.$Properties|null);

        /** ServerErrorResponse Details. */
        Details?: "retryInfo";

        /**
         * Encodes the specified ServerErrorResponse message. Does not implicitly {@link opamp.ServerErrorResponse.verify|verify} messages.
         * @param message ServerErrorResponse message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ServerErrorResponse.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ServerErrorResponse message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ServerErrorResponse & opamp.ServerErrorResponse.$Shape} ServerErrorResponse
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ServerErrorResponse & opamp.ServerErrorResponse.$Shape;
    }

    namespace ServerErrorResponse {

        /** Properties of a ServerErrorResponse. */
        interface $Properties {

            /** ServerErrorResponse type */
            type?: (opamp.ServerErrorResponseType|null);

            /** ServerErrorResponse errorMessage */
            errorMessage?: (string|null);

            /** ServerErrorResponse retryInfo */
            retryInfo?: (opamp.RetryInfo.$Properties|null);

            /** ServerErrorResponse Details */
            Details?: "retryInfo";

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Narrowed shape of a ServerErrorResponse. */
        type $Shape = {
          type?: opamp.ServerErrorResponseType|null;
          errorMessage?: string|null;
          retryInfo?: opamp.RetryInfo.$Shape|null;
          $unknowns?: Uint8Array[];
        } & (
          ({ Details?: undefined; retryInfo?: null }|{ Details?: "retryInfo"; retryInfo: opamp.RetryInfo.$Shape })
        );
    }

    /** ServerErrorResponseType enum. */
    enum ServerErrorResponseType {

        /** ServerErrorResponseType_Unknown value */
        ServerErrorResponseType_Unknown = 0,

        /** ServerErrorResponseType_BadRequest value */
        ServerErrorResponseType_BadRequest = 1,

        /** ServerErrorResponseType_Unavailable value */
        ServerErrorResponseType_Unavailable = 2
    }

    /**
     * Properties of a RetryInfo.
     * @deprecated Use opamp.RetryInfo.$Properties instead.
     */
    interface IRetryInfo extends opamp.RetryInfo.$Properties {
    }

    /** Represents a RetryInfo. */
    class RetryInfo {

        /**
         * Constructs a new RetryInfo.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.RetryInfo.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** RetryInfo retryAfterNanoseconds. */
        retryAfterNanoseconds: Long;

        /**
         * Encodes the specified RetryInfo message. Does not implicitly {@link opamp.RetryInfo.verify|verify} messages.
         * @param message RetryInfo message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.RetryInfo.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a RetryInfo message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.RetryInfo & opamp.RetryInfo.$Shape} RetryInfo
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.RetryInfo & opamp.RetryInfo.$Shape;
    }

    namespace RetryInfo {

        /** Properties of a RetryInfo. */
        interface $Properties {

            /** RetryInfo retryAfterNanoseconds */
            retryAfterNanoseconds?: (Long|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a RetryInfo. */
        type $Shape = opamp.RetryInfo.$Properties;
    }

    /**
     * Properties of an AgentRemoteConfig.
     * @deprecated Use opamp.AgentRemoteConfig.$Properties instead.
     */
    interface IAgentRemoteConfig extends opamp.AgentRemoteConfig.$Properties {
    }

    /** Represents an AgentRemoteConfig. */
    class AgentRemoteConfig {

        /**
         * Constructs a new AgentRemoteConfig.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.AgentRemoteConfig.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** AgentRemoteConfig config. */
        config?: (opamp.AgentConfigMap.$Properties|null);

        /** AgentRemoteConfig configHash. */
        configHash: Uint8Array;

        /**
         * Encodes the specified AgentRemoteConfig message. Does not implicitly {@link opamp.AgentRemoteConfig.verify|verify} messages.
         * @param message AgentRemoteConfig message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.AgentRemoteConfig.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AgentRemoteConfig message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.AgentRemoteConfig & opamp.AgentRemoteConfig.$Shape} AgentRemoteConfig
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.AgentRemoteConfig & opamp.AgentRemoteConfig.$Shape;
    }

    namespace AgentRemoteConfig {

        /** Properties of an AgentRemoteConfig. */
        interface $Properties {

            /** AgentRemoteConfig config */
            config?: (opamp.AgentConfigMap.$Properties|null);

            /** AgentRemoteConfig configHash */
            configHash?: (Uint8Array|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an AgentRemoteConfig. */
        type $Shape = opamp.AgentRemoteConfig.$Properties;
    }

    /**
     * Properties of a PackagesAvailable.
     * @deprecated Use opamp.PackagesAvailable.$Properties instead.
     */
    interface IPackagesAvailable extends opamp.PackagesAvailable.$Properties {
    }

    /** Represents a PackagesAvailable. */
    class PackagesAvailable {

        /**
         * Constructs a new PackagesAvailable.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.PackagesAvailable.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** PackagesAvailable packages. */
        packages: { [k: string]: opamp.PackageAvailable.$Properties };

        /** PackagesAvailable allPackagesHash. */
        allPackagesHash: Uint8Array;

        /**
         * Encodes the specified PackagesAvailable message. Does not implicitly {@link opamp.PackagesAvailable.verify|verify} messages.
         * @param message PackagesAvailable message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.PackagesAvailable.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a PackagesAvailable message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.PackagesAvailable & opamp.PackagesAvailable.$Shape} PackagesAvailable
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.PackagesAvailable & opamp.PackagesAvailable.$Shape;
    }

    namespace PackagesAvailable {

        /** Properties of a PackagesAvailable. */
        interface $Properties {

            /** PackagesAvailable packages */
            packages?: ({ [k: string]: opamp.PackageAvailable.$Properties }|null);

            /** PackagesAvailable allPackagesHash */
            allPackagesHash?: (Uint8Array|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a PackagesAvailable. */
        type $Shape = opamp.PackagesAvailable.$Properties;
    }

    /**
     * Properties of a PackageAvailable.
     * @deprecated Use opamp.PackageAvailable.$Properties instead.
     */
    interface IPackageAvailable extends opamp.PackageAvailable.$Properties {
    }

    /** Represents a PackageAvailable. */
    class PackageAvailable {

        /**
         * Constructs a new PackageAvailable.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.PackageAvailable.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** PackageAvailable type. */
        type: opamp.PackageType;

        /** PackageAvailable version. */
        version: string;

        /** PackageAvailable file. */
        file?: (opamp.DownloadableFile.$Properties|null);

        /** PackageAvailable hash. */
        hash: Uint8Array;

        /**
         * Encodes the specified PackageAvailable message. Does not implicitly {@link opamp.PackageAvailable.verify|verify} messages.
         * @param message PackageAvailable message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.PackageAvailable.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a PackageAvailable message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.PackageAvailable & opamp.PackageAvailable.$Shape} PackageAvailable
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.PackageAvailable & opamp.PackageAvailable.$Shape;
    }

    namespace PackageAvailable {

        /** Properties of a PackageAvailable. */
        interface $Properties {

            /** PackageAvailable type */
            type?: (opamp.PackageType|null);

            /** PackageAvailable version */
            version?: (string|null);

            /** PackageAvailable file */
            file?: (opamp.DownloadableFile.$Properties|null);

            /** PackageAvailable hash */
            hash?: (Uint8Array|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a PackageAvailable. */
        type $Shape = opamp.PackageAvailable.$Properties;
    }

    /** PackageType enum. */
    enum PackageType {

        /** PackageType_TopLevel value */
        PackageType_TopLevel = 0,

        /** PackageType_Addon value */
        PackageType_Addon = 1
    }

    /**
     * Properties of a DownloadableFile.
     * @deprecated Use opamp.DownloadableFile.$Properties instead.
     */
    interface IDownloadableFile extends opamp.DownloadableFile.$Properties {
    }

    /** Represents a DownloadableFile. */
    class DownloadableFile {

        /**
         * Constructs a new DownloadableFile.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.DownloadableFile.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** DownloadableFile downloadUrl. */
        downloadUrl: string;

        /** DownloadableFile contentHash. */
        contentHash: Uint8Array;

        /** DownloadableFile signature. */
        signature: Uint8Array;

        /** DownloadableFile headers. */
        headers?: (opamp.Headers.$Properties|null);

        /**
         * Encodes the specified DownloadableFile message. Does not implicitly {@link opamp.DownloadableFile.verify|verify} messages.
         * @param message DownloadableFile message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.DownloadableFile.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a DownloadableFile message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.DownloadableFile & opamp.DownloadableFile.$Shape} DownloadableFile
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.DownloadableFile & opamp.DownloadableFile.$Shape;
    }

    namespace DownloadableFile {

        /** Properties of a DownloadableFile. */
        interface $Properties {

            /** DownloadableFile downloadUrl */
            downloadUrl?: (string|null);

            /** DownloadableFile contentHash */
            contentHash?: (Uint8Array|null);

            /** DownloadableFile signature */
            signature?: (Uint8Array|null);

            /** DownloadableFile headers */
            headers?: (opamp.Headers.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a DownloadableFile. */
        type $Shape = opamp.DownloadableFile.$Properties;
    }

    /**
     * Properties of an AgentIdentification.
     * @deprecated Use opamp.AgentIdentification.$Properties instead.
     */
    interface IAgentIdentification extends opamp.AgentIdentification.$Properties {
    }

    /** Represents an AgentIdentification. */
    class AgentIdentification {

        /**
         * Constructs a new AgentIdentification.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.AgentIdentification.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** AgentIdentification newInstanceUid. */
        newInstanceUid: Uint8Array;

        /**
         * Encodes the specified AgentIdentification message. Does not implicitly {@link opamp.AgentIdentification.verify|verify} messages.
         * @param message AgentIdentification message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.AgentIdentification.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AgentIdentification message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.AgentIdentification & opamp.AgentIdentification.$Shape} AgentIdentification
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.AgentIdentification & opamp.AgentIdentification.$Shape;
    }

    namespace AgentIdentification {

        /** Properties of an AgentIdentification. */
        interface $Properties {

            /** AgentIdentification newInstanceUid */
            newInstanceUid?: (Uint8Array|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an AgentIdentification. */
        type $Shape = opamp.AgentIdentification.$Properties;
    }

    /**
     * Properties of a ServerToAgentCommand.
     * @deprecated Use opamp.ServerToAgentCommand.$Properties instead.
     */
    interface IServerToAgentCommand extends opamp.ServerToAgentCommand.$Properties {
    }

    /** Represents a ServerToAgentCommand. */
    class ServerToAgentCommand {

        /**
         * Constructs a new ServerToAgentCommand.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ServerToAgentCommand.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ServerToAgentCommand type. */
        type: opamp.CommandType;

        /**
         * Encodes the specified ServerToAgentCommand message. Does not implicitly {@link opamp.ServerToAgentCommand.verify|verify} messages.
         * @param message ServerToAgentCommand message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ServerToAgentCommand.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ServerToAgentCommand message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ServerToAgentCommand & opamp.ServerToAgentCommand.$Shape} ServerToAgentCommand
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ServerToAgentCommand & opamp.ServerToAgentCommand.$Shape;
    }

    namespace ServerToAgentCommand {

        /** Properties of a ServerToAgentCommand. */
        interface $Properties {

            /** ServerToAgentCommand type */
            type?: (opamp.CommandType|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ServerToAgentCommand. */
        type $Shape = opamp.ServerToAgentCommand.$Properties;
    }

    /** CommandType enum. */
    enum CommandType {

        /** CommandType_Restart value */
        CommandType_Restart = 0
    }

    /**
     * Properties of a ConnectionSettingsOffers.
     * @deprecated Use opamp.ConnectionSettingsOffers.$Properties instead.
     */
    interface IConnectionSettingsOffers extends opamp.ConnectionSettingsOffers.$Properties {
    }

    /** Represents a ConnectionSettingsOffers. */
    class ConnectionSettingsOffers {

        /**
         * Constructs a new ConnectionSettingsOffers.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ConnectionSettingsOffers.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ConnectionSettingsOffers hash. */
        hash: Uint8Array;

        /** ConnectionSettingsOffers opamp. */
        opamp?: (opamp.OpAMPConnectionSettings.$Properties|null);

        /** ConnectionSettingsOffers ownMetrics. */
        ownMetrics?: (opamp.TelemetryConnectionSettings.$Properties|null);

        /** ConnectionSettingsOffers ownTraces. */
        ownTraces?: (opamp.TelemetryConnectionSettings.$Properties|null);

        /** ConnectionSettingsOffers ownLogs. */
        ownLogs?: (opamp.TelemetryConnectionSettings.$Properties|null);

        /** ConnectionSettingsOffers otherConnections. */
        otherConnections: { [k: string]: opamp.OtherConnectionSettings.$Properties };

        /**
         * Encodes the specified ConnectionSettingsOffers message. Does not implicitly {@link opamp.ConnectionSettingsOffers.verify|verify} messages.
         * @param message ConnectionSettingsOffers message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ConnectionSettingsOffers.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ConnectionSettingsOffers message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ConnectionSettingsOffers & opamp.ConnectionSettingsOffers.$Shape} ConnectionSettingsOffers
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ConnectionSettingsOffers & opamp.ConnectionSettingsOffers.$Shape;
    }

    namespace ConnectionSettingsOffers {

        /** Properties of a ConnectionSettingsOffers. */
        interface $Properties {

            /** ConnectionSettingsOffers hash */
            hash?: (Uint8Array|null);

            /** ConnectionSettingsOffers opamp */
            opamp?: (opamp.OpAMPConnectionSettings.$Properties|null);

            /** ConnectionSettingsOffers ownMetrics */
            ownMetrics?: (opamp.TelemetryConnectionSettings.$Properties|null);

            /** ConnectionSettingsOffers ownTraces */
            ownTraces?: (opamp.TelemetryConnectionSettings.$Properties|null);

            /** ConnectionSettingsOffers ownLogs */
            ownLogs?: (opamp.TelemetryConnectionSettings.$Properties|null);

            /** ConnectionSettingsOffers otherConnections */
            otherConnections?: ({ [k: string]: opamp.OtherConnectionSettings.$Properties }|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ConnectionSettingsOffers. */
        type $Shape = opamp.ConnectionSettingsOffers.$Properties;
    }

    /**
     * Properties of an OpAMPConnectionSettings.
     * @deprecated Use opamp.OpAMPConnectionSettings.$Properties instead.
     */
    interface IOpAMPConnectionSettings extends opamp.OpAMPConnectionSettings.$Properties {
    }

    /** Represents an OpAMPConnectionSettings. */
    class OpAMPConnectionSettings {

        /**
         * Constructs a new OpAMPConnectionSettings.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.OpAMPConnectionSettings.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** OpAMPConnectionSettings destinationEndpoint. */
        destinationEndpoint: string;

        /** OpAMPConnectionSettings headers. */
        headers?: (opamp.Headers.$Properties|null);

        /** OpAMPConnectionSettings certificate. */
        certificate?: (opamp.TLSCertificate.$Properties|null);

        /** OpAMPConnectionSettings heartbeatIntervalSeconds. */
        heartbeatIntervalSeconds: Long;

        /** OpAMPConnectionSettings tls. */
        tls?: (opamp.TLSConnectionSettings.$Properties|null);

        /** OpAMPConnectionSettings proxy. */
        proxy?: (opamp.ProxyConnectionSettings.$Properties|null);

        /**
         * Encodes the specified OpAMPConnectionSettings message. Does not implicitly {@link opamp.OpAMPConnectionSettings.verify|verify} messages.
         * @param message OpAMPConnectionSettings message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.OpAMPConnectionSettings.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an OpAMPConnectionSettings message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.OpAMPConnectionSettings & opamp.OpAMPConnectionSettings.$Shape} OpAMPConnectionSettings
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.OpAMPConnectionSettings & opamp.OpAMPConnectionSettings.$Shape;
    }

    namespace OpAMPConnectionSettings {

        /** Properties of an OpAMPConnectionSettings. */
        interface $Properties {

            /** OpAMPConnectionSettings destinationEndpoint */
            destinationEndpoint?: (string|null);

            /** OpAMPConnectionSettings headers */
            headers?: (opamp.Headers.$Properties|null);

            /** OpAMPConnectionSettings certificate */
            certificate?: (opamp.TLSCertificate.$Properties|null);

            /** OpAMPConnectionSettings heartbeatIntervalSeconds */
            heartbeatIntervalSeconds?: (Long|null);

            /** OpAMPConnectionSettings tls */
            tls?: (opamp.TLSConnectionSettings.$Properties|null);

            /** OpAMPConnectionSettings proxy */
            proxy?: (opamp.ProxyConnectionSettings.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an OpAMPConnectionSettings. */
        type $Shape = opamp.OpAMPConnectionSettings.$Properties;
    }

    /**
     * Properties of a TelemetryConnectionSettings.
     * @deprecated Use opamp.TelemetryConnectionSettings.$Properties instead.
     */
    interface ITelemetryConnectionSettings extends opamp.TelemetryConnectionSettings.$Properties {
    }

    /** Represents a TelemetryConnectionSettings. */
    class TelemetryConnectionSettings {

        /**
         * Constructs a new TelemetryConnectionSettings.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.TelemetryConnectionSettings.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** TelemetryConnectionSettings destinationEndpoint. */
        destinationEndpoint: string;

        /** TelemetryConnectionSettings headers. */
        headers?: (opamp.Headers.$Properties|null);

        /** TelemetryConnectionSettings certificate. */
        certificate?: (opamp.TLSCertificate.$Properties|null);

        /** TelemetryConnectionSettings tls. */
        tls?: (opamp.TLSConnectionSettings.$Properties|null);

        /** TelemetryConnectionSettings proxy. */
        proxy?: (opamp.ProxyConnectionSettings.$Properties|null);

        /**
         * Encodes the specified TelemetryConnectionSettings message. Does not implicitly {@link opamp.TelemetryConnectionSettings.verify|verify} messages.
         * @param message TelemetryConnectionSettings message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.TelemetryConnectionSettings.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a TelemetryConnectionSettings message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.TelemetryConnectionSettings & opamp.TelemetryConnectionSettings.$Shape} TelemetryConnectionSettings
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.TelemetryConnectionSettings & opamp.TelemetryConnectionSettings.$Shape;
    }

    namespace TelemetryConnectionSettings {

        /** Properties of a TelemetryConnectionSettings. */
        interface $Properties {

            /** TelemetryConnectionSettings destinationEndpoint */
            destinationEndpoint?: (string|null);

            /** TelemetryConnectionSettings headers */
            headers?: (opamp.Headers.$Properties|null);

            /** TelemetryConnectionSettings certificate */
            certificate?: (opamp.TLSCertificate.$Properties|null);

            /** TelemetryConnectionSettings tls */
            tls?: (opamp.TLSConnectionSettings.$Properties|null);

            /** TelemetryConnectionSettings proxy */
            proxy?: (opamp.ProxyConnectionSettings.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a TelemetryConnectionSettings. */
        type $Shape = opamp.TelemetryConnectionSettings.$Properties;
    }

    /**
     * Properties of an OtherConnectionSettings.
     * @deprecated Use opamp.OtherConnectionSettings.$Properties instead.
     */
    interface IOtherConnectionSettings extends opamp.OtherConnectionSettings.$Properties {
    }

    /** Represents an OtherConnectionSettings. */
    class OtherConnectionSettings {

        /**
         * Constructs a new OtherConnectionSettings.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.OtherConnectionSettings.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** OtherConnectionSettings destinationEndpoint. */
        destinationEndpoint: string;

        /** OtherConnectionSettings headers. */
        headers?: (opamp.Headers.$Properties|null);

        /** OtherConnectionSettings certificate. */
        certificate?: (opamp.TLSCertificate.$Properties|null);

        /** OtherConnectionSettings otherSettings. */
        otherSettings: { [k: string]: string };

        /** OtherConnectionSettings tls. */
        tls?: (opamp.TLSConnectionSettings.$Properties|null);

        /** OtherConnectionSettings proxy. */
        proxy?: (opamp.ProxyConnectionSettings.$Properties|null);

        /**
         * Encodes the specified OtherConnectionSettings message. Does not implicitly {@link opamp.OtherConnectionSettings.verify|verify} messages.
         * @param message OtherConnectionSettings message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.OtherConnectionSettings.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an OtherConnectionSettings message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.OtherConnectionSettings & opamp.OtherConnectionSettings.$Shape} OtherConnectionSettings
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.OtherConnectionSettings & opamp.OtherConnectionSettings.$Shape;
    }

    namespace OtherConnectionSettings {

        /** Properties of an OtherConnectionSettings. */
        interface $Properties {

            /** OtherConnectionSettings destinationEndpoint */
            destinationEndpoint?: (string|null);

            /** OtherConnectionSettings headers */
            headers?: (opamp.Headers.$Properties|null);

            /** OtherConnectionSettings certificate */
            certificate?: (opamp.TLSCertificate.$Properties|null);

            /** OtherConnectionSettings otherSettings */
            otherSettings?: ({ [k: string]: string }|null);

            /** OtherConnectionSettings tls */
            tls?: (opamp.TLSConnectionSettings.$Properties|null);

            /** OtherConnectionSettings proxy */
            proxy?: (opamp.ProxyConnectionSettings.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an OtherConnectionSettings. */
        type $Shape = opamp.OtherConnectionSettings.$Properties;
    }

    /**
     * Properties of a TLSCertificate.
     * @deprecated Use opamp.TLSCertificate.$Properties instead.
     */
    interface ITLSCertificate extends opamp.TLSCertificate.$Properties {
    }

    /** Represents a TLSCertificate. */
    class TLSCertificate {

        /**
         * Constructs a new TLSCertificate.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.TLSCertificate.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** TLSCertificate cert. */
        cert: Uint8Array;

        /** TLSCertificate privateKey. */
        privateKey: Uint8Array;

        /** TLSCertificate caCert. */
        caCert: Uint8Array;

        /**
         * Encodes the specified TLSCertificate message. Does not implicitly {@link opamp.TLSCertificate.verify|verify} messages.
         * @param message TLSCertificate message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.TLSCertificate.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a TLSCertificate message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.TLSCertificate & opamp.TLSCertificate.$Shape} TLSCertificate
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.TLSCertificate & opamp.TLSCertificate.$Shape;
    }

    namespace TLSCertificate {

        /** Properties of a TLSCertificate. */
        interface $Properties {

            /** TLSCertificate cert */
            cert?: (Uint8Array|null);

            /** TLSCertificate privateKey */
            privateKey?: (Uint8Array|null);

            /** TLSCertificate caCert */
            caCert?: (Uint8Array|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a TLSCertificate. */
        type $Shape = opamp.TLSCertificate.$Properties;
    }

    /**
     * Properties of a TLSConnectionSettings.
     * @deprecated Use opamp.TLSConnectionSettings.$Properties instead.
     */
    interface ITLSConnectionSettings extends opamp.TLSConnectionSettings.$Properties {
    }

    /** Represents a TLSConnectionSettings. */
    class TLSConnectionSettings {

        /**
         * Constructs a new TLSConnectionSettings.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.TLSConnectionSettings.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** TLSConnectionSettings caPemContents. */
        caPemContents: string;

        /** TLSConnectionSettings includeSystemCaCertsPool. */
        includeSystemCaCertsPool: boolean;

        /** TLSConnectionSettings insecureSkipVerify. */
        insecureSkipVerify: boolean;

        /** TLSConnectionSettings minVersion. */
        minVersion: string;

        /** TLSConnectionSettings maxVersion. */
        maxVersion: string;

        /** TLSConnectionSettings cipherSuites. */
        cipherSuites: string[];

        /**
         * Encodes the specified TLSConnectionSettings message. Does not implicitly {@link opamp.TLSConnectionSettings.verify|verify} messages.
         * @param message TLSConnectionSettings message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.TLSConnectionSettings.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a TLSConnectionSettings message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.TLSConnectionSettings & opamp.TLSConnectionSettings.$Shape} TLSConnectionSettings
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.TLSConnectionSettings & opamp.TLSConnectionSettings.$Shape;
    }

    namespace TLSConnectionSettings {

        /** Properties of a TLSConnectionSettings. */
        interface $Properties {

            /** TLSConnectionSettings caPemContents */
            caPemContents?: (string|null);

            /** TLSConnectionSettings includeSystemCaCertsPool */
            includeSystemCaCertsPool?: (boolean|null);

            /** TLSConnectionSettings insecureSkipVerify */
            insecureSkipVerify?: (boolean|null);

            /** TLSConnectionSettings minVersion */
            minVersion?: (string|null);

            /** TLSConnectionSettings maxVersion */
            maxVersion?: (string|null);

            /** TLSConnectionSettings cipherSuites */
            cipherSuites?: (string[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a TLSConnectionSettings. */
        type $Shape = opamp.TLSConnectionSettings.$Properties;
    }

    /**
     * Properties of a ProxyConnectionSettings.
     * @deprecated Use opamp.ProxyConnectionSettings.$Properties instead.
     */
    interface IProxyConnectionSettings extends opamp.ProxyConnectionSettings.$Properties {
    }

    /** Represents a ProxyConnectionSettings. */
    class ProxyConnectionSettings {

        /**
         * Constructs a new ProxyConnectionSettings.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ProxyConnectionSettings.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ProxyConnectionSettings url. */
        url: string;

        /** ProxyConnectionSettings connectHeaders. */
        connectHeaders?: (opamp.Headers.$Properties|null);

        /**
         * Encodes the specified ProxyConnectionSettings message. Does not implicitly {@link opamp.ProxyConnectionSettings.verify|verify} messages.
         * @param message ProxyConnectionSettings message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ProxyConnectionSettings.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a ProxyConnectionSettings message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ProxyConnectionSettings & opamp.ProxyConnectionSettings.$Shape} ProxyConnectionSettings
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ProxyConnectionSettings & opamp.ProxyConnectionSettings.$Shape;
    }

    namespace ProxyConnectionSettings {

        /** Properties of a ProxyConnectionSettings. */
        interface $Properties {

            /** ProxyConnectionSettings url */
            url?: (string|null);

            /** ProxyConnectionSettings connectHeaders */
            connectHeaders?: (opamp.Headers.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a ProxyConnectionSettings. */
        type $Shape = opamp.ProxyConnectionSettings.$Properties;
    }

    /**
     * Properties of an AgentConfigMap.
     * @deprecated Use opamp.AgentConfigMap.$Properties instead.
     */
    interface IAgentConfigMap extends opamp.AgentConfigMap.$Properties {
    }

    /** Represents an AgentConfigMap. */
    class AgentConfigMap {

        /**
         * Constructs a new AgentConfigMap.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.AgentConfigMap.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** AgentConfigMap configMap. */
        configMap: { [k: string]: opamp.AgentConfigFile.$Properties };

        /**
         * Encodes the specified AgentConfigMap message. Does not implicitly {@link opamp.AgentConfigMap.verify|verify} messages.
         * @param message AgentConfigMap message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.AgentConfigMap.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AgentConfigMap message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.AgentConfigMap & opamp.AgentConfigMap.$Shape} AgentConfigMap
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.AgentConfigMap & opamp.AgentConfigMap.$Shape;
    }

    namespace AgentConfigMap {

        /** Properties of an AgentConfigMap. */
        interface $Properties {

            /** AgentConfigMap configMap */
            configMap?: ({ [k: string]: opamp.AgentConfigFile.$Properties }|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an AgentConfigMap. */
        type $Shape = opamp.AgentConfigMap.$Properties;
    }

    /**
     * Properties of an AgentConfigFile.
     * @deprecated Use opamp.AgentConfigFile.$Properties instead.
     */
    interface IAgentConfigFile extends opamp.AgentConfigFile.$Properties {
    }

    /** Represents an AgentConfigFile. */
    class AgentConfigFile {

        /**
         * Constructs a new AgentConfigFile.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.AgentConfigFile.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** AgentConfigFile body. */
        body: Uint8Array;

        /** AgentConfigFile contentType. */
        contentType: string;

        /**
         * Encodes the specified AgentConfigFile message. Does not implicitly {@link opamp.AgentConfigFile.verify|verify} messages.
         * @param message AgentConfigFile message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.AgentConfigFile.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AgentConfigFile message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.AgentConfigFile & opamp.AgentConfigFile.$Shape} AgentConfigFile
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.AgentConfigFile & opamp.AgentConfigFile.$Shape;
    }

    namespace AgentConfigFile {

        /** Properties of an AgentConfigFile. */
        interface $Properties {

            /** AgentConfigFile body */
            body?: (Uint8Array|null);

            /** AgentConfigFile contentType */
            contentType?: (string|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an AgentConfigFile. */
        type $Shape = opamp.AgentConfigFile.$Properties;
    }

    /**
     * Properties of a Headers.
     * @deprecated Use opamp.Headers.$Properties instead.
     */
    interface IHeaders extends opamp.Headers.$Properties {
    }

    /** Represents a Headers. */
    class Headers {

        /**
         * Constructs a new Headers.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.Headers.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** Headers headers. */
        headers: opamp.Header.$Properties[];

        /**
         * Encodes the specified Headers message. Does not implicitly {@link opamp.Headers.verify|verify} messages.
         * @param message Headers message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.Headers.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a Headers message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.Headers & opamp.Headers.$Shape} Headers
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.Headers & opamp.Headers.$Shape;
    }

    namespace Headers {

        /** Properties of a Headers. */
        interface $Properties {

            /** Headers headers */
            headers?: (opamp.Header.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a Headers. */
        type $Shape = opamp.Headers.$Properties;
    }

    /**
     * Properties of a Header.
     * @deprecated Use opamp.Header.$Properties instead.
     */
    interface IHeader extends opamp.Header.$Properties {
    }

    /** Represents a Header. */
    class Header {

        /**
         * Constructs a new Header.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.Header.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** Header key. */
        key: string;

        /** Header value. */
        value: string;

        /**
         * Encodes the specified Header message. Does not implicitly {@link opamp.Header.verify|verify} messages.
         * @param message Header message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.Header.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a Header message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.Header & opamp.Header.$Shape} Header
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.Header & opamp.Header.$Shape;
    }

    namespace Header {

        /** Properties of a Header. */
        interface $Properties {

            /** Header key */
            key?: (string|null);

            /** Header value */
            value?: (string|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a Header. */
        type $Shape = opamp.Header.$Properties;
    }

    /**
     * Properties of a CustomCapabilities.
     * @deprecated Use opamp.CustomCapabilities.$Properties instead.
     */
    interface ICustomCapabilities extends opamp.CustomCapabilities.$Properties {
    }

    /** Represents a CustomCapabilities. */
    class CustomCapabilities {

        /**
         * Constructs a new CustomCapabilities.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.CustomCapabilities.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** CustomCapabilities capabilities. */
        capabilities: string[];

        /**
         * Encodes the specified CustomCapabilities message. Does not implicitly {@link opamp.CustomCapabilities.verify|verify} messages.
         * @param message CustomCapabilities message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.CustomCapabilities.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a CustomCapabilities message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.CustomCapabilities & opamp.CustomCapabilities.$Shape} CustomCapabilities
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.CustomCapabilities & opamp.CustomCapabilities.$Shape;
    }

    namespace CustomCapabilities {

        /** Properties of a CustomCapabilities. */
        interface $Properties {

            /** CustomCapabilities capabilities */
            capabilities?: (string[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a CustomCapabilities. */
        type $Shape = opamp.CustomCapabilities.$Properties;
    }

    /**
     * Properties of a CustomMessage.
     * @deprecated Use opamp.CustomMessage.$Properties instead.
     */
    interface ICustomMessage extends opamp.CustomMessage.$Properties {
    }

    /** Represents a CustomMessage. */
    class CustomMessage {

        /**
         * Constructs a new CustomMessage.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.CustomMessage.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** CustomMessage capability. */
        capability: string;

        /** CustomMessage type. */
        type: string;

        /** CustomMessage data. */
        data: Uint8Array;

        /**
         * Encodes the specified CustomMessage message. Does not implicitly {@link opamp.CustomMessage.verify|verify} messages.
         * @param message CustomMessage message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.CustomMessage.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a CustomMessage message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.CustomMessage & opamp.CustomMessage.$Shape} CustomMessage
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.CustomMessage & opamp.CustomMessage.$Shape;
    }

    namespace CustomMessage {

        /** Properties of a CustomMessage. */
        interface $Properties {

            /** CustomMessage capability */
            capability?: (string|null);

            /** CustomMessage type */
            type?: (string|null);

            /** CustomMessage data */
            data?: (Uint8Array|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a CustomMessage. */
        type $Shape = opamp.CustomMessage.$Properties;
    }

    /**
     * Properties of an AnyValue.
     * @deprecated Use opamp.AnyValue.$Properties instead.
     */
    interface IAnyValue extends opamp.AnyValue.$Properties {
    }

    /** Represents an AnyValue. */
    class AnyValue {

        /**
         * Constructs a new AnyValue.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.AnyValue.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** AnyValue stringValue. */
        stringValue?: (string|null);

        /** AnyValue boolValue. */
        boolValue?: (boolean|null);

        /** AnyValue intValue. */
        intValue?: (Long|null);

        /** AnyValue doubleValue. */
        doubleValue?: (number|null);

        /** AnyValue arrayValue. */
        arrayValue?: (opamp.ArrayValue.$Properties|null);

        /** AnyValue kvlistValue. */
        kvlistValue?: (opamp.KeyValueList.$Properties|null);

        /** AnyValue bytesValue. */
        bytesValue?: (Uint8Array|null);

        /** AnyValue value. */
        value?: ("stringValue"|"boolValue"|"intValue"|"doubleValue"|"arrayValue"|"kvlistValue"|"bytesValue");

        /**
         * Encodes the specified AnyValue message. Does not implicitly {@link opamp.AnyValue.verify|verify} messages.
         * @param message AnyValue message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.AnyValue.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an AnyValue message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.AnyValue & opamp.AnyValue.$Shape} AnyValue
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.AnyValue & opamp.AnyValue.$Shape;
    }

    namespace AnyValue {

        /** Properties of an AnyValue. */
        interface $Properties {

            /** AnyValue stringValue */
            stringValue?: (string|null);

            /** AnyValue boolValue */
            boolValue?: (boolean|null);

            /** AnyValue intValue */
            intValue?: (Long|null);

            /** AnyValue doubleValue */
            doubleValue?: (number|null);

            /** AnyValue arrayValue */
            arrayValue?: (opamp.ArrayValue.$Properties|null);

            /** AnyValue kvlistValue */
            kvlistValue?: (opamp.KeyValueList.$Properties|null);

            /** AnyValue bytesValue */
            bytesValue?: (Uint8Array|null);

            /** AnyValue value */
            value?: ("stringValue"|"boolValue"|"intValue"|"doubleValue"|"arrayValue"|"kvlistValue"|"bytesValue");

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Narrowed shape of an AnyValue. */
        type $Shape = {
          stringValue?: string|null;
          boolValue?: boolean|null;
          intValue?: Long|null;
          doubleValue?: number|null;
          arrayValue?: opamp.ArrayValue.$Shape|null;
          kvlistValue?: opamp.KeyValueList.$Shape|null;
          bytesValue?: Uint8Array|null;
          $unknowns?: Uint8Array[];
        } & (
          ({ value?: undefined; stringValue?: null; boolValue?: null; intValue?: null; doubleValue?: null; arrayValue?: null; kvlistValue?: null; bytesValue?: null }|{ value?: "stringValue"; stringValue: string; boolValue?: null; intValue?: null; doubleValue?: null; arrayValue?: null; kvlistValue?: null; bytesValue?: null }|{ value?: "boolValue"; stringValue?: null; boolValue: boolean; intValue?: null; doubleValue?: null; arrayValue?: null; kvlistValue?: null; bytesValue?: null }|{ value?: "intValue"; stringValue?: null; boolValue?: null; intValue: Long; doubleValue?: null; arrayValue?: null; kvlistValue?: null; bytesValue?: null }|{ value?: "doubleValue"; stringValue?: null; boolValue?: null; intValue?: null; doubleValue: number; arrayValue?: null; kvlistValue?: null; bytesValue?: null }|{ value?: "arrayValue"; stringValue?: null; boolValue?: null; intValue?: null; doubleValue?: null; arrayValue: opamp.ArrayValue.$Shape; kvlistValue?: null; bytesValue?: null }|{ value?: "kvlistValue"; stringValue?: null; boolValue?: null; intValue?: null; doubleValue?: null; arrayValue?: null; kvlistValue: opamp.KeyValueList.$Shape; bytesValue?: null }|{ value?: "bytesValue"; stringValue?: null; boolValue?: null; intValue?: null; doubleValue?: null; arrayValue?: null; kvlistValue?: null; bytesValue: Uint8Array })
        );
    }

    /**
     * Properties of an ArrayValue.
     * @deprecated Use opamp.ArrayValue.$Properties instead.
     */
    interface IArrayValue extends opamp.ArrayValue.$Properties {
    }

    /** Represents an ArrayValue. */
    class ArrayValue {

        /**
         * Constructs a new ArrayValue.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.ArrayValue.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** ArrayValue values. */
        values: opamp.AnyValue.$Properties[];

        /**
         * Encodes the specified ArrayValue message. Does not implicitly {@link opamp.ArrayValue.verify|verify} messages.
         * @param message ArrayValue message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.ArrayValue.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes an ArrayValue message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.ArrayValue & opamp.ArrayValue.$Shape} ArrayValue
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.ArrayValue & opamp.ArrayValue.$Shape;
    }

    namespace ArrayValue {

        /** Properties of an ArrayValue. */
        interface $Properties {

            /** ArrayValue values */
            values?: (opamp.AnyValue.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of an ArrayValue. */
        type $Shape = {
          values?: opamp.AnyValue.$Shape[]|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of a KeyValueList.
     * @deprecated Use opamp.KeyValueList.$Properties instead.
     */
    interface IKeyValueList extends opamp.KeyValueList.$Properties {
    }

    /** Represents a KeyValueList. */
    class KeyValueList {

        /**
         * Constructs a new KeyValueList.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.KeyValueList.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** KeyValueList values. */
        values: opamp.KeyValue.$Properties[];

        /**
         * Encodes the specified KeyValueList message. Does not implicitly {@link opamp.KeyValueList.verify|verify} messages.
         * @param message KeyValueList message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.KeyValueList.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a KeyValueList message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.KeyValueList & opamp.KeyValueList.$Shape} KeyValueList
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.KeyValueList & opamp.KeyValueList.$Shape;
    }

    namespace KeyValueList {

        /** Properties of a KeyValueList. */
        interface $Properties {

            /** KeyValueList values */
            values?: (opamp.KeyValue.$Properties[]|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a KeyValueList. */
        type $Shape = {
          values?: opamp.KeyValue.$Shape[]|null;
          $unknowns?: Uint8Array[];
        };
    }

    /**
     * Properties of a KeyValue.
     * @deprecated Use opamp.KeyValue.$Properties instead.
     */
    interface IKeyValue extends opamp.KeyValue.$Properties {
    }

    /** Represents a KeyValue. */
    class KeyValue {

        /**
         * Constructs a new KeyValue.
         * @param [properties] Properties to set
         */
        constructor(properties?: opamp.KeyValue.$Properties);

        /** Unknown fields preserved while decoding when enabled */
        $unknowns?: Uint8Array[];

        /** KeyValue key. */
        key: string;

        /** KeyValue value. */
        value?: (opamp.AnyValue.$Properties|null);

        /**
         * Encodes the specified KeyValue message. Does not implicitly {@link opamp.KeyValue.verify|verify} messages.
         * @param message KeyValue message or plain object to encode
         * @param [writer] Writer to encode to
         * @returns Writer
         */
        static encode(message: opamp.KeyValue.$Properties, writer?: $protobuf.Writer): $protobuf.Writer;

        /**
         * Decodes a KeyValue message from the specified reader or buffer.
         * @param reader Reader or buffer to decode from
         * @param [length] Message length if known beforehand
         * @returns {opamp.KeyValue & opamp.KeyValue.$Shape} KeyValue
         * @throws {Error} If the payload is not a reader or valid buffer
         * @throws {$protobuf.util.ProtocolError} If required fields are missing
         */
        static decode(reader: ($protobuf.Reader|Uint8Array), length?: number): opamp.KeyValue & opamp.KeyValue.$Shape;
    }

    namespace KeyValue {

        /** Properties of a KeyValue. */
        interface $Properties {

            /** KeyValue key */
            key?: (string|null);

            /** KeyValue value */
            value?: (opamp.AnyValue.$Properties|null);

            /** Unknown fields preserved while decoding when enabled */
            $unknowns?: Uint8Array[];
        }

        /** Shape of a KeyValue. */
        type $Shape = {
          key?: string|null;
          value?: opamp.AnyValue.$Shape|null;
          $unknowns?: Uint8Array[];
        };
    }
}
